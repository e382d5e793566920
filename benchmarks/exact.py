#!/usr/bin/env python3
"""Whether exact tensors are found exactly: s3cmtf.factorize on tensors of known rank, of which a part is observed.

    python benchmarks/exact.py [--seeds 10] [--noise 0] [--observed 0.05 0.1 0.3] [--hard]

Factors and core are standard normal, and so is the noise, in units of the values' deviation. Each line is a case: how many of
the seeds come to a relative error on unseen cells below 1e-5, or with noise below it; the median and the largest error; the
most epochs that it took; and the median seconds. --hard adds ranks 5 and 8 and modes of unequal rank.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import s3cmtf

CASES = [
    ((50, 40, 30), 3, "full"),
    ((50, 40, 30), 3, "diagonal"),
    ((25, 20, 15, 12), 3, "full"),
    ((25, 20, 15, 12), 3, "diagonal"),
]
HARD = [
    ((50, 40, 30), (2, 3, 4), "full"),
    ((50, 40, 30), 5, "full"),
    ((50, 40, 30), 5, "diagonal"),
    ((50, 40, 30), 8, "full"),
    ((50, 40, 30), 8, "diagonal"),
    ((25, 20, 15, 12), (2, 3, 4, 2), "full"),
    ((25, 20, 15, 12), 5, "diagonal"),
    ((25, 20, 15, 12), 8, "diagonal"),
]


def tensor(shape: tuple[int, ...], ranks: list[int], core: str, random: np.random.Generator) -> np.ndarray:
    factors = [random.normal(size=(size, rank)) for size, rank in zip(shape, ranks, strict=True)]
    if core == "diagonal":
        dense = np.zeros(ranks)
        dense[(np.arange(ranks[0]),) * len(ranks)] = random.normal(size=ranks[0])
    else:
        dense = random.normal(size=ranks)
    for mode, factor in enumerate(factors):
        dense = np.moveaxis(np.tensordot(factor, dense, axes=(1, mode)), 0, mode)
    return dense


def measure(shape, rank, core, observed, noise, seed):
    random = np.random.default_rng(seed)
    ranks = [rank] * len(shape) if isinstance(rank, int) else list(rank)
    dense = tensor(shape, ranks, core, random)
    seen = random.random(shape) < observed
    values = dense[seen] + noise * dense.std() * random.normal(size=seen.sum())
    start = time.perf_counter()
    # Noise is not exact, and factorize would go on to another algorithm.
    more = {"algorithm": "als"} if noise else {}
    found = s3cmtf.factorize(np.argwhere(seen), values, rank, shape=shape, core=core, seed=seed + 1, **more)
    seconds = time.perf_counter() - start
    apart = (found.to_dense().astype(np.float64) - dense)[~seen]
    return np.linalg.norm(apart) / np.linalg.norm(dense[~seen]), len(found.history), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--observed", type=float, nargs="+", default=[0.05, 0.1, 0.3])
    parser.add_argument("--hard", action="store_true")
    said = parser.parse_args()
    print("| shape | core | rank | observed | found | median error | largest error | most epochs | median seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for shape, rank, core in CASES + (HARD if said.hard else []):
        for observed in said.observed:
            results = [measure(shape, rank, core, observed, said.noise, seed) for seed in range(said.seeds)]
            errors, epochs, seconds = (np.array(column) for column in zip(*results, strict=True))
            found = int((errors < max(1e-5, said.noise)).sum())
            size = " x ".join(map(str, shape))
            ranks = rank if isinstance(rank, int) else ", ".join(map(str, rank))
            print(
                f"| {size} | {core} | {ranks} | {observed:.0%} | {found} of {said.seeds} | {np.median(errors):.1e} "
                f"| {errors.max():.1e} | {epochs.max()} | {np.median(seconds):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
