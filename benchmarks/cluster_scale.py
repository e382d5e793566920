#!/usr/bin/env python3
"""What an epoch takes on a cluster, by a model of it, and the model against what is measured.

    python benchmarks/cluster_scale.py                    # the table of docs/cluster.md
    python benchmarks/cluster_scale.py --check [--full]   # workers on this machine; needs s3cmtf[cluster]
    python benchmarks/cluster_scale.py --driver           # what the program that calls needs, for more and more entries

The model: cores share the work on entries, which takes a time per entry and core; a worker receives the bytes that docs/cluster.md says, at some
bandwidth; and each time that all workers meet takes a latency for each of them. For the table, the time per entry is that of the record of
`bench bayes` on the shape of Netflix, 16 threads, and bandwidth and latency are said on the command line. `--check` finds bandwidth and latency on two other
shapes, predicts a third one for 1 to 8 workers of two threads from how long one worker takes and from how much slower runs of it become that share nothing
but the machine, and measures it; workers of one machine share its bandwidth. `--full` fits the shape of Netflix, with one process on all cores and with four workers that share them, and says how fast four workers
load 100 million rows of Parquet. `--driver` fits 10^7, 10^8 and 10^9 entries, one worker for each core, and says how much memory the program has
needed that calls them, and the workers; 10^9 need about 90 GB.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

RECORD = Path(__file__).parent / "record/xeon-16-cores-h200/netflix/bayes.jsonl"
STRIPS = 64
# The passes over the core that workers meet in, and the share of the time on entries that they have, on the shape of Netflix; no more than 64
# workers have work in them.
PASSES, CORE = 4, 0.3
# Bytes of an entry of three modes: three copies, and what was read; and of a name.
ENTRY, READ, NAME = 3 * 12, 16, 24


@dataclass(frozen=True)
class Shape:
    entries: float
    sizes: tuple[int, ...]
    rank: int = 10

    @property
    def core(self) -> int:
        return math.prod(min(self.rank, size) for size in self.sizes)

    def received(self, workers: int, counted: float) -> float:
        """The bytes that a worker receives in an epoch; `counted` is the share of epochs whose draws count."""
        rows = sum(size * (4 * self.rank * (1 + counted) + 8) for size in self.sizes)
        return (rows + PASSES * STRIPS * (4 * self.core + 8)) * (workers - 1) / workers

    def memory(self, workers: int) -> float:
        """The bytes that a worker needs: at most while entries are dealt out, or in training."""
        own = self.entries / workers
        distributions = sum(self.sizes) * 4 * (self.rank**2 / 2 + self.rank) / workers
        everywhere = sum(self.sizes) * (2 * 4 * self.rank + 8 + NAME)
        return max(own * 4 * READ, own * (ENTRY + READ) + distributions) + everywhere


@dataclass(frozen=True)
class Machine:
    seconds_per_entry: float
    """Of one core."""
    bandwidth: float
    """Bytes per second that a worker receives."""
    latency: float
    """Seconds of a meeting for each worker in it."""

    def epoch(self, shape: Shape, workers: int, threads: int, counted: float = 1.0) -> tuple[float, float]:
        """The seconds of computing and of exchange."""
        alone = shape.entries * self.seconds_per_entry / threads
        computing = alone * ((1 - CORE) / workers + CORE / min(workers, STRIPS))
        if workers == 1:
            return computing, 0.0
        meetings = len(shape.sizes) + PASSES + counted
        return computing, shape.received(workers, counted) / self.bandwidth + meetings * workers * self.latency


def recorded(rank: int) -> float:
    """Seconds of one core for an entry in an epoch: a + b J^2 through what was measured at two ranks."""
    rows = [json.loads(line) for line in RECORD.read_text().splitlines()]
    own = [row for row in rows if row.get("program") == "this"]
    (low, one), (high, other) = sorted((row["rank"], row["seconds_per_epoch"] * row["threads"] / row["entries"]) for row in own)[:2]
    slope = (other - one) / (high**2 - low**2)
    return one + slope * (rank**2 - low**2)


def table(args: argparse.Namespace) -> None:
    machine = Machine(recorded(args.rank), args.bandwidth * 1e9 / 8, args.latency)
    print(f"Rank {args.rank}, {args.cores} cores per node, {args.bandwidth:g} Gbit/s, {1e3 * args.latency:g} ms for each node of a meeting:\n")
    print("| entries | rows of the modes | nodes | computing | exchange | an epoch | 120 epochs | memory of a node |")
    print("|---|---|---|---|---|---|---|---|")
    for entries, sizes in ((1e9, (10**7, 10**6, 120)), (1e10, (10**8, 10**7, 120))):
        shape = Shape(entries, sizes, args.rank)
        for nodes in (16, 64, 256):
            computing, exchange = machine.epoch(shape, nodes, args.cores)
            every = computing + exchange
            rows = " x ".join(f"{size:,}" for size in sizes)
            print(
                f"| 10^{math.log10(entries):.0f} | {rows} | {nodes} | {computing:.1f} s | {exchange:.1f} s | {every:.1f} s "
                f"| {120 * every / 60:.0f} min | {shape.memory(nodes) / 1e9:.0f} GB |"
            )


def write_part(path: str, part: int, count: int, sizes: tuple[int, ...]) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(part)
    names = [f"mode{mode}" for mode in range(len(sizes))]
    schema = pa.schema([*((name, pa.int32()) for name in names), ("value", pa.float32())])
    block = 1 << 22
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, count, block):
            some = min(block, count - start)
            # Rows with many entries come first, as they do where ids are numbered as they occur.
            ids = [(size * generator.random(some) ** 2).astype(np.int32) for size in sizes]
            values = generator.normal(size=some).astype(np.float32)
            writer.write_table(pa.table(dict(zip([*names, "value"], [*ids, values], strict=True)), schema=schema))


def write(folder: Path, shape: Shape) -> list[str]:
    """Parquet files of entries, of which rows have about as unequal parts as those of ratings have."""
    parts = 16
    paths = [str(folder / f"part-{part}.parquet") for part in range(parts)]
    # Other processes, so that this one has not needed the memory.
    with multiprocessing.get_context("spawn").Pool(len(os.sched_getaffinity(0))) as pool:
        pool.starmap(write_part, [(path, part, int(shape.entries) // parts, shape.sizes) for part, path in enumerate(paths)])
    return paths


@dataclass(frozen=True)
class Measured:
    epoch: float
    """The median seconds of an epoch, exchange included."""
    exchange: float
    """Of the worker that has least of it: the one that the others wait for."""
    waiting: float
    """How much more exchange, on average over workers: they wait in it."""
    loading: float
    """Of the worker that has most of it."""
    received: float
    """The mean over workers."""
    memory: float
    """The most of a worker."""


def modes(shape: Shape) -> list[str]:
    return [f"mode{mode}" for mode in range(len(shape.sizes))]


def settings(shape: Shape, epochs: int) -> dict[str, object]:
    ranks = [min(shape.rank, size) for size in shape.sizes]
    return {
        "ranks": ranks,
        "epochs": epochs,
        "seed": 1,
        "without": ["choice"],
        "device": "cpu",
    }


def median(seconds: list[float]) -> float:
    """The median epoch, of the seconds that a run has taken after each."""
    return statistics.median(after - before for before, after in itertools.pairwise(seconds))


def measured(files: list[str], shape: Shape, workers: int, threads: int, epochs: int) -> Measured:
    from s3cmtf import cluster

    seconds: list[float] = []

    def observe(text: str) -> bool:
        seconds.append(json.loads(text)["seconds"])
        return False

    words = {
        "modes": modes(shape),
        "value": "value",
        "settings": settings(shape, epochs),
        "observe": observe,
    }
    # A model that is not saved comes to this process.
    with tempfile.TemporaryDirectory(dir=Path(files[0]).parent) as out:
        _, used = cluster.fit(files, **words, workers=workers, threads_per_worker=threads, out=str(Path(out, "model")))
    received = statistics.mean(one["received"] for one in used)
    loading, memory = (max(one[name] for one in used) for name in ("loading_seconds", "memory"))
    exchange = [one["exchange_seconds"] for one in used]
    return Measured(median(seconds), min(exchange), statistics.mean(exchange) - min(exchange), loading, received, memory)


# Epochs of two runs, whose difference is what epochs take without start and end. A quarter of them count.
SHORT, LONG, COUNTED = 4, 16, 0.25


def per_epoch(files: list[str], shape: Shape, workers: int, threads: int) -> Measured:
    """A run whose exchange and bytes are those of an epoch."""
    short, long = (measured(files, shape, workers, threads, epochs) for epochs in (SHORT, LONG))
    exchange, waiting, received = ((getattr(long, name) - getattr(short, name)) / (LONG - SHORT) for name in ("exchange", "waiting", "received"))
    return Measured(long.epoch, exchange, waiting, long.loading, received, long.memory)


THREADS = 2


def alone(files: list[str], shape: Shape, threads: int) -> float:
    """The median epoch of a run that shares nothing."""
    import s3cmtf

    model = s3cmtf.S3CMTF(rank=shape.rank, epochs=LONG, seed=1, without=["choice"], device="cpu", n_threads=threads)
    model.fit(files, modes=modes(shape), value="value")
    return median(list(model.history_["seconds"]))


def slowdown(files: list[str], shape: Shape, runs: int, threads: int) -> float:
    """How much slower a run is beside others: cores of a machine share its power and its memory."""

    def at_once(count: int) -> float:
        with multiprocessing.get_context("spawn").Pool(count) as pool:
            return statistics.mean(pool.starmap(alone, [(files, shape, threads)] * count, chunksize=1))

    return max(at_once(runs) / at_once(1), 1.0)


def check(folder: Path, scale: float) -> None:
    cores = len(os.sched_getaffinity(0))
    threads = min(THREADS, cores // 2)
    counts = [count for count in (1, 2, 4, 8) if count * threads <= cores]
    entries_only, rows_only = Shape(4e6 * scale, (2_000, 1_000, 12)), Shape(1.2e6 * scale, (1_200_000, 300_000, 12))
    third = Shape(2e7 * scale, (480_000, 17_700, 74))
    files = {}
    for number, shape in enumerate((entries_only, rows_only, third)):
        place = folder / str(number)
        place.mkdir()
        files[shape] = write(place, shape)

    def beyond(shape: Shape, workers: int) -> tuple[float, float]:
        """What an epoch of several workers takes beyond their part of one worker's, and the bytes that each receives in it."""
        one, several = measured(files[shape], shape, 1, threads, LONG), per_epoch(files[shape], shape, workers, threads)
        return max(several.epoch - one.epoch / workers, 0.0), several.received

    most = counts[-1]
    (meeting, _), (exchange, received) = beyond(entries_only, most), beyond(rows_only, most)
    latency = meeting / (len(third.sizes) + PASSES + COUNTED) / most
    shared = received * most / max(exchange - meeting, 1e-9)
    one = measured(files[third], third, 1, threads, LONG)
    slowest = slowdown(files[third], third, most, threads)

    def slower(workers: int) -> float:
        return 1 + (slowest - 1) * (workers - 1) / max(most - 1, 1)

    print(
        f"{1e3 * latency:.2f} ms for each worker of a meeting, {shared / 1e9:.2f} GB/s for all workers together; {most} runs at once take "
        f"{slowest:.2f} times as long as one; "
        f"{third.entries:.0f} entries, {threads} threads for each worker:\n"
    )
    print("| workers | predicted | measured | ratio | waiting for the slowest | bytes by the formula | received |\n|---|---|---|---|---|---|---|")
    for workers in counts:
        machine = Machine(one.epoch * slower(workers) * threads / third.entries, shared / workers, latency)
        predicted = sum(machine.epoch(third, workers, threads, COUNTED))
        found = per_epoch(files[third], third, workers, threads) if workers > 1 else one
        print(
            f"| {workers} | {predicted:.3f} s | {found.epoch:.3f} s | {predicted / found.epoch:.2f} | {found.waiting:.3f} s "
            f"| {third.received(workers, COUNTED) / 1e6:.1f} MB | {found.received / 1e6:.1f} MB |",
            flush=True,
        )


def full(folder: Path, scale: float) -> None:
    """One process on all cores, and four workers that share them."""
    import s3cmtf

    cores, epochs = len(os.sched_getaffinity(0)), 12
    shape = Shape(1e8 * scale, (480_189, 17_770, 74))
    place = folder / "netflix"
    place.mkdir()
    files = write(place, shape)
    workers = min(4, cores)
    found = measured(files, shape, workers, cores // workers, epochs)
    start = time.perf_counter()
    model = s3cmtf.S3CMTF(rank=10, epochs=epochs, seed=1, without=["choice"], device="cpu", n_threads=cores)
    model.fit(files, modes=modes(shape), value="value")
    wall, alone = time.perf_counter() - start, median(list(model.history_["seconds"]))
    print(f"\n{shape.entries:.0f} entries, the shape of Netflix, rank 10:\n")
    print("| | an epoch | ratio | loading and shuffling | rows/s |\n|---|---|---|---|---|")
    print(f"| one process, {cores} threads | {alone:.3f} s | 1 | {wall:.1f} s in all | |")
    rate = shape.entries / found.loading / 1e6
    print(
        f"| {workers} workers of {cores // workers} | {found.epoch:.3f} s | {found.epoch / alone:.2f} | {found.loading:.1f} s | {rate:.1f} M |",
        flush=True,
    )


def driver(folder: Path, scale: float) -> None:
    """What the calling program needs does not grow with the data."""
    import resource

    workers = len(os.sched_getaffinity(0))
    print(f"{workers} workers of one thread, rank 10:\n")
    print("| entries | loading | an epoch | memory of the program that calls | most of a worker |\n|---|---|---|---|---|")
    for entries in (1e7, 1e8, 1e9):
        shape = Shape(entries * scale, (480_189, 17_770, 74))
        place = folder / f"{entries:.0e}"
        place.mkdir()
        found = measured(write(place, shape), shape, workers, 1, 4)
        shutil.rmtree(place)
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(
            f"| {shape.entries:.0f} | {found.loading:.1f} s | {found.epoch:.2f} s | {own / 1e6:.0f} MB | {found.memory / 1e9:.2f} GB |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="measure workers on this machine")
    parser.add_argument("--full", action="store_true", help="with --check: the shape of Netflix, too")
    parser.add_argument("--driver", action="store_true", help="what the calling program needs")
    parser.add_argument("--scale", type=float, default=1.0, help="with --check and --driver: so many of the entries")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--cores", type=int, default=16, help="of a node")
    parser.add_argument("--bandwidth", type=float, default=25.0, help="of a node's link, in Gbit/s")
    parser.add_argument(
        "--latency",
        type=float,
        default=0.0007,
        help="of a meeting, in seconds for each worker in it",
    )
    args = parser.parse_args()
    if not args.check and not args.driver:
        return table(args)
    with tempfile.TemporaryDirectory() as folder:
        if args.check:
            check(Path(folder), args.scale)
        if args.check and args.full:
            full(Path(folder), args.scale)
        if args.driver:
            driver(Path(folder), args.scale)


if __name__ == "__main__":
    main()
