#!/usr/bin/env python3
"""Kills workers, nodes and the program itself at random times, and holds what comes out against one machine.

    python benchmarks/cluster_kills.py [--kills 50] [--seed 1]

Runs `python -m s3cmtf.cluster fit` again and again on a cluster of three nodes on this machine, and sends SIGKILL to a worker, to the
process that workers meet in, to the program, or to a whole node, which is then replaced; after the program was killed, the
same command is typed again. Asserts that every run ends with the bits of `s3cmtf.S3CMTF` on one machine, and prints a table of what was
killed. Needs s3cmtf[cluster]. Fifty kills take about ten minutes.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import s3cmtf

# Runs take so long that most are hit more than once.
ROWS, EPOCHS = 20_000, 300
MODES, VALUE = "user,item,month", "value"


def write(folder: Path) -> list[str]:
    """A planted tensor in six files."""
    generator = np.random.default_rng(3)
    ids = [generator.integers(size, size=ROWS) for size in (400, 150, 12)]
    rows = [generator.normal(size=(size, 3)) for size in (400, 150, 12)]
    values = sum(rows[0][ids[0], k] * rows[1][ids[1], k] * rows[2][ids[2], k] for k in range(3))
    columns = {**dict(zip(MODES.split(","), ids, strict=True)), VALUE: values + 0.3 * generator.normal(size=ROWS)}
    paths = [str(folder / f"part-{part}.parquet") for part in range(6)]
    for part, path in enumerate(paths):
        pq.write_table(pa.table({name: column[part::6] for name, column in columns.items()}), path)
    return paths


def processes(start: bytes) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(start):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def same(one: s3cmtf.S3CMTF, other: s3cmtf.S3CMTF) -> bool:
    factors = all(np.array_equal(one.factors[mode], other.factors[mode]) for mode in one.modes_)
    return factors and np.array_equal(one.core, other.core)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--kills", type=int, default=50)
    words.add_argument("--seed", type=int, default=1)
    said = words.parse_args()
    from ray.cluster_utils import Cluster

    chance, killed, runs = random.Random(said.seed), collections.Counter(), 0
    start = time.monotonic()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write(folder)
        expected = s3cmtf.S3CMTF(rank=4, epochs=EPOCHS, without=["choice"]).fit(paths, modes=MODES, value=VALUE)
        while killed.total() < said.kills:
            runs += 1
            out, kept = folder / f"model-{runs}", folder / f"kept-{runs}"
            command = [sys.executable, "-m", "s3cmtf.cluster", "fit", *paths, "--modes", MODES, "--value", VALUE]
            command += ["--ranks", "4", "--epochs", str(EPOCHS), "--out", str(out), "--checkpoint", str(kept)]
            command += [
                "--checkpoint-every",
                "0.2",
                "--workers",
                "3",
                "--threads-per-worker",
                "1",
                "--address",
                cluster.address,
                "-q",
            ]
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not out.exists():
                end = time.monotonic() + chance.uniform(3, 12)
                while time.monotonic() < end and running.poll() is None:
                    time.sleep(0.05)
                if running.poll() is not None:
                    if not out.exists():
                        assert running.returncode < 0, f"a run ended with {running.returncode}"
                        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    continue
                # A run must be able to end.
                what = chance.choice(["worker", "worker", "hub", "program", "node", "nothing"])
                if what == "node":
                    cluster.remove_node(nodes.pop(chance.randrange(3)), allow_graceful=False)
                    nodes.append(cluster.add_node(num_cpus=1))
                elif what == "program":
                    running.kill()
                    running.wait()
                elif what != "nothing":
                    there = processes(b"ray::Worker" if what == "worker" else b"ray::Hub")
                    if not there:
                        continue
                    os.kill(chance.choice(there), signal.SIGKILL)
                if what != "nothing":
                    killed[what] += 1
            assert running.wait(timeout=300) == 0
            assert same(s3cmtf.load(out), expected), f"run {runs} came to another model"
            print(f"run {runs}: the same bits after {killed.total()} kills, {time.monotonic() - start:.0f} s", flush=True)
    cluster.shutdown()
    print(f"\n{killed.total()} kills in {runs} runs, each with the bits of one machine, {time.monotonic() - start:.0f} s")
    print("\n| killed | times |\n|---|---|")
    for what, times in sorted(killed.items()):
        print(f"| {what} | {times} |")


if __name__ == "__main__":
    main()
