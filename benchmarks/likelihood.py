#!/usr/bin/env python3
"""Probabilities and counts beside scikit-learn's regressions and a Gaussian model of the same data.

    python benchmarks/likelihood.py [--command target/release/s3cmtf] [--liked TRAIN TEST]

Planted worlds of three modes: answers, Poisson counts, and counts with a heavy tail (a dispersion of 0.7 around means that go over five orders of
magnitude). TRAIN and TEST are ratings as lines of `user item .. stars`: 4 or more are a yes. The regressions have a dummy for
each row of each mode, and their regulariser is tuned on the test. The Gaussian model of answers gets a logistic link that is fitted on the test; that of counts is fitted to ln(1 + count), and
its exponential multiplied so that it has the sum of the training counts. Both flatter the others; s3cmtf is told nothing but the
likelihood. Asserts that it is at least as good, to a standard error. Needs numpy, scipy and scikit-learn.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, PoissonRegressor

SIZES = (600, 400, 12)
ENTRIES = 40_000


def planted(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells, their values and the means that were planted."""
    generator = np.random.default_rng(seed)
    rows = [generator.normal(size=(size, 3)) for size in SIZES]
    offsets = [scale * generator.normal(size=size) for scale, size in zip((0.6, 0.8, 0.2), SIZES, strict=True)]
    cells = np.unique(np.stack([generator.integers(size, size=ENTRIES) for size in SIZES], 1), axis=0)
    generator.shuffle(cells)
    user, item, time = cells.T
    linear = 0.6 * (rows[0][user] * rows[1][item] * (1 + 0.3 * rows[2][time])).sum(1)
    linear += sum(offsets[mode][cells[:, mode]] for mode in range(3))
    if kind == "answers":
        means = 1 / (1 + np.exp(0.5 - linear))
        return cells, (generator.random(len(means)) < means).astype(float), means
    if kind == "poisson":
        means = np.exp(0.5 * linear + 0.5)
        return cells, generator.poisson(means).astype(float), means
    means = np.exp(1.5 * linear + 1)
    around = np.minimum(means * generator.gamma(0.7, 1 / 0.7, size=len(means)), 1e5)
    return cells, generator.poisson(around).astype(float), means


def log_loss(means: np.ndarray, values: np.ndarray) -> np.ndarray:
    means = np.clip(means, 1e-7, 1 - 1e-7)
    return -np.where(values > 0.5, np.log(means), np.log1p(-means))


def deviance(means: np.ndarray, values: np.ndarray) -> np.ndarray:
    means = np.maximum(means, 1e-7)
    logs = np.where(values > 0, values * np.log(np.maximum(values, 1) / means), 0)
    return 2 * (logs - values + means)


def dummies(cells: np.ndarray, sizes: np.ndarray) -> sp.csr_matrix:
    columns = cells + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    return sp.csr_matrix((np.ones(columns.size), columns.ravel(), starts), shape=(len(cells), sizes.sum()))


def fitted(command: str, cells: list[np.ndarray], values: np.ndarray, likelihood: str) -> list[np.ndarray]:
    """What the command predicts for both sets of cells after fitting the first."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, some in enumerate(cells):
            np.savetxt(folder / f"{number}.tns", np.column_stack([some + 1, values if number == 0 else np.zeros(len(some))]), fmt="%g")
        train = [command, "fit", folder / "0.tns", "--likelihood", likelihood, "--threads", "2", "--quiet", "--out", folder / "model"]
        subprocess.run(train, check=True, capture_output=True)
        predict = [[command, "predict", folder / "model", folder / f"{number}.tns"] for number in (0, 1)]
        said = [subprocess.run(words, check=True, capture_output=True, text=True).stdout for words in predict]
        return [np.array(lines.split(), dtype=float) for lines in said]


def compare(name: str, command: str, cells: np.ndarray, values: np.ndarray, cut: int, means: np.ndarray | None) -> None:
    train, test = values[:cut], values[cut:]
    both = [cells[:cut], cells[cut:]]
    sizes = cells.max(0) + 1
    answers = set(np.unique(values)) == {0.0, 1.0}
    score = log_loss if answers else deviance
    found = {"the mean": score(np.full(len(test), train.mean()), test)}
    x, z = (dummies(some, sizes) for some in both)
    if answers:
        peers = [LogisticRegression(C=c, max_iter=1000).fit(x, train).predict_proba(z)[:, 1] for c in (0.1, 0.3, 1, 3)]
        linear = fitted(command, both, train, "gaussian")[1]
        grid = ((slope, level) for slope in np.linspace(2, 12, 41) for level in np.linspace(-8, 1, 37))
        gaussian = min((score(1 / (1 + np.exp(-slope * linear - level)), test) for slope, level in grid), key=np.mean)
        likelihood, other = "logistic", "Gaussian, link fitted on the test"
    else:
        peers = [PoissonRegressor(alpha=a, max_iter=1000).fit(x, train).predict(z) for a in (1e-4, 1e-3, 1e-2)]
        logs = [np.exp(some) for some in fitted(command, both, np.log1p(train), "gaussian")]
        gaussian = score(logs[1] * train.sum() / logs[0].sum(), test)
        likelihood, other = "counts", "Gaussian of the logarithms"
    found["scikit-learn's regression"] = min((score(peer, test) for peer in peers), key=np.mean)
    found[other] = gaussian
    ours = score(fitted(command, both, train, likelihood)[1], test)
    found[f"--likelihood {likelihood}"] = ours
    if means is not None:
        found["the planted means"] = score(means[cut:], test)
    print(f"\n{name}: {'log loss' if answers else 'Poisson deviance'} of {len(test)} entries held out, largest value {values.max():g}")
    for method, scores in found.items():
        print(f"  {method:36} {scores.mean():10.4f}")
    gain = gaussian - ours
    assert gain.mean() > -gain.std() / np.sqrt(len(gain)), f"{name}: Gaussian is better"
    assert ours.mean() < found["scikit-learn's regression"].mean(), f"{name}: the regression is better"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--command", default="target/release/s3cmtf")
    words.add_argument("--liked", nargs=2, metavar=("TRAIN", "TEST"))
    asked = words.parse_args()
    for kind in ("answers", "poisson", "heavy tail"):
        cells, values, means = planted(kind, 3)
        compare(kind, asked.command, cells, values, int(0.8 * len(values)), means)
    if asked.liked:
        train, test = (np.loadtxt(path) for path in asked.liked)
        table = np.vstack([train, test])
        compare("liked", asked.command, table[:, :-1].astype(int) - 1, (table[:, -1] >= 4).astype(float), len(train), None)


if __name__ == "__main__":
    main()
