#!/usr/bin/env python3
"""What the Python package costs: from a pandas frame to the first epoch, its memory, and fits held against the command.

    python benchmarks/python.py [--rows 10000000] [--command target/release/s3cmtf] [--repeats 3]

Needs the package as a release wheel (crates/python: maturin build --release) with pandas, and the command of the same build.
Each measurement is a process of its own; the memory is the most that it ever had, without that of an interpreter which has
only imported what it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

WORDS = {"modes": ["user", "film", "time:month"], "value": "stars"}


def ratings(rows: int) -> pd.DataFrame:
    """Ratings as they come from a log: 64-bit ids, a unix time, stars."""
    random = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "user": (random.pareto(1.2, rows) * 3000).astype(np.int64) % 200_000,
            "film": (random.pareto(1.2, rows) * 300).astype(np.int64) % 20_000,
            "time": random.integers(1_300_000_000, 1_500_000_000, rows),
            "stars": random.integers(1, 11, rows) / 2,
        }
    )


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def first_epoch(rows: int) -> dict[str, float]:
    """Seconds from a frame to the end of the first epoch and to the model, and the memory that there was at most, in frames."""
    import s3cmtf

    bare = peak()
    frame = ratings(rows)
    # What making the frame took is not what is measured: as soon as it is smaller again, the mark is set back.
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")
    size = int(frame.memory_usage(deep=True).sum())
    ends: list[float] = []
    model = s3cmtf.S3CMTF(rank=10, epochs=1, callbacks=[lambda epoch: ends.append(time.perf_counter())])
    start = time.perf_counter()
    model.fit(frame, **WORDS)
    whole = time.perf_counter() - start
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    most = int(line.split()[1]) * 1024
    return {
        "seconds": ends[0] - start,
        "whole": whole,
        "frames": (most - bare) / size,
        "frame_bytes": size,
        "entries": model.record_["data"]["entries"],
    }


def fit(rows: int, epochs: int) -> dict[str, float]:
    import s3cmtf

    folder = Path(os.environ["S3CMTF_BENCH"])
    frame = pd.read_parquet(folder / "ratings.parquet")
    start = time.perf_counter()
    model = s3cmtf.S3CMTF(rank=10, epochs=epochs, keep_data=False).fit(frame, **WORDS)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "training": model.record_["summary"]["seconds"], "rmse": model.rmse()}


def command(program: Path, epochs: int) -> dict[str, float]:
    folder = Path(os.environ["S3CMTF_BENCH"])
    words = [
        "fit",
        str(folder / "ratings.parquet"),
        "--modes",
        ",".join(WORDS["modes"]),
        "--value",
        "stars",
        "--rank",
        "10",
    ]
    start = time.perf_counter()
    done = subprocess.run(
        [str(program), *words, "--epochs", str(epochs), "--json"], check=True, capture_output=True, text=True
    )
    seconds = time.perf_counter() - start
    summary = json.loads(done.stdout.splitlines()[-1])
    return {"seconds": seconds, "training": summary["seconds"], "rmse": summary["train_rmse"]}


def child(*words: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--command", type=Path, default=Path("target/release/s3cmtf"))
    parser.add_argument("--child", choices=["first-epoch", "fit"])
    args = parser.parse_args()
    if args.child:
        measured = first_epoch(args.rows) if args.child == "first-epoch" else fit(args.rows, args.epochs)
        print(json.dumps(measured))
        return
    words = ["--rows", str(args.rows), "--epochs", str(args.epochs)]
    for _ in range(args.repeats):
        measured = child("--child", "first-epoch", *words)
        print(
            f"{args.rows} rows to the end of the first epoch: {measured['seconds']:.2f} s, to the model: {measured['whole']:.2f} s, "
            f"{measured['frames']:.2f} times the frame of {measured['frame_bytes'] / 1e6:.0f} MB"
        )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["S3CMTF_BENCH"] = folder
        ratings(args.rows).to_parquet(Path(folder, "ratings.parquet"))
        ratios = []
        # In turns, since machines are noisy.
        for _ in range(args.repeats):
            other, own = command(args.command, args.epochs), child("--child", "fit", *words)
            assert own["rmse"] == other["rmse"], (own, other)
            ratios.append(own["seconds"] / other["seconds"])
            print(
                f"fit, {args.epochs} epochs: Python {own['seconds']:.2f} s (training {own['training']:.2f}), command {other['seconds']:.2f} s "
                f"(training {other['training']:.2f}): {100 * (ratios[-1] - 1):+.1f} %"
            )
        print(f"median: {100 * (float(np.median(ratios)) - 1):+.1f} %")


if __name__ == "__main__":
    main()
