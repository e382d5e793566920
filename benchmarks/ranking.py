#!/usr/bin/env python3
"""Recommendations beside those of other recommenders: the same splits, the same lists of ten, the same measures.

    python benchmarks/ranking.py RATINGS [--command target/release/s3cmtf] [--untuned] [--methods popular,ease,..]

RATINGS is a table with columns userId, movieId, rating and timestamp, as MovieLens has them. Needs numpy, scipy, pandas and implicit
(als and bpr). Two splits: a random fifth of the entries, and the last entry of each user. ALS, BPR, EASE and item-kNN are tuned on the test
entries themselves, which flatters them (--untuned: one setting each); s3cmtf is told nothing but the data. What training has is left out of
all lists; NDCG@10 and recall@10 (of the smaller of ten and the relevant) are means over users, with a 95 % interval of the mean. `liked`
is the same with test entries of 4 or more alone.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import numpy as np
import pandas as pd
import scipy.sparse as sp

TOP = 10
LIKED = 4.0


def splits(table: pd.DataFrame, seed: int) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    held = np.random.default_rng(seed).random(len(table)) < 0.2
    yield "random fifth", table[~held], table[held]
    order = table.sort_values(["user", "timestamp"], kind="stable")
    held = ~order.duplicated("user", keep="last")
    yield "last one out", order[~held], order[held]


def matrix(table: pd.DataFrame, shape: tuple[int, int], values: str | None = None) -> sp.csr_matrix:
    numbers = np.ones(len(table)) if values is None else table[values].to_numpy(float)
    return sp.csr_matrix((numbers, (table.user.to_numpy(), table.item.to_numpy())), shape=shape)


def lists(scores: np.ndarray, train: sp.csr_matrix) -> np.ndarray:
    """The ten best that training does not have, best first."""
    scores = np.asarray(scores, dtype=float).copy()
    scores[train.nonzero()] = -np.inf
    best = np.argpartition(-scores, TOP, axis=1)[:, :TOP]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1)


def measure(found: np.ndarray, test: sp.csr_matrix, least: float) -> dict[str, np.ndarray]:
    discount = 1 / np.log2(np.arange(2, TOP + 2))
    ndcg, recall = [], []
    for user in range(test.shape[0]):
        some = slice(test.indptr[user], test.indptr[user + 1])
        relevant = test.indices[some][test.data[some] >= least]
        if len(relevant) == 0:
            continue
        hits = np.isin(found[user], relevant)
        most = min(TOP, len(relevant))
        ndcg.append((hits * discount).sum() / discount[:most].sum())
        recall.append(hits.sum() / most)
    return {"NDCG@10": np.array(ndcg), "recall@10": np.array(recall)}


def popular(train: sp.csr_matrix) -> Iterator[tuple[str, np.ndarray]]:
    yield "", np.tile(np.asarray(train.sum(axis=0)).ravel(), (train.shape[0], 1))


def item_knn(train: sp.csr_matrix) -> Iterator[tuple[str, np.ndarray]]:
    norms = np.sqrt(np.maximum(np.asarray(train.sum(axis=0)).ravel(), 1))
    likeness = (train.T @ train).toarray() / np.outer(norms, norms)
    np.fill_diagonal(likeness, 0)
    for neighbours in (50, 200):
        few = np.where(likeness >= -np.sort(-likeness, axis=1)[:, neighbours - 1 : neighbours], likeness, 0)
        yield f"{neighbours} neighbours", train @ few.T


def ease(train: sp.csr_matrix) -> Iterator[tuple[str, np.ndarray]]:
    for ridge in (200, 400, 100, 800):
        gram = (train.T @ train).toarray()
        gram[np.diag_indices_from(gram)] += ridge
        inverse = np.linalg.inv(gram)
        weights = -inverse / np.diag(inverse)
        np.fill_diagonal(weights, 0)
        yield f"ridge {ridge}", train @ weights


def implicit_als(train: sp.csr_matrix) -> Iterator[tuple[str, np.ndarray]]:
    from implicit.als import AlternatingLeastSquares

    for factors, ridge, alpha in itertools.product((64, 32), (10, 1, 30), (1, 3)):
        model = AlternatingLeastSquares(factors=factors, regularization=ridge, alpha=alpha, num_threads=2, random_state=1)
        model.fit(train, show_progress=False)
        yield f"{factors} factors, ridge {ridge}, alpha {alpha}", model.user_factors @ model.item_factors.T


def implicit_bpr(train: sp.csr_matrix) -> Iterator[tuple[str, np.ndarray]]:
    from implicit.bpr import BayesianPersonalizedRanking

    for factors, rate, ridge in itertools.product((32, 64), (0.05, 0.01), (0.01, 0.03)):
        model = BayesianPersonalizedRanking(
            factors=factors, learning_rate=rate, regularization=ridge, num_threads=2, random_state=1
        )
        model.fit(train, show_progress=False)
        yield f"{factors} factors, rate {rate}, ridge {ridge}", model.user_factors @ model.item_factors.T


METHODS: dict[str, Callable[[sp.csr_matrix], Iterator[tuple[str, np.ndarray]]]] = {
    "most popular": popular,
    "item-kNN": item_knn,
    "implicit BPR": implicit_bpr,
    "implicit ALS": implicit_als,
    "EASE": ease,
}
OURS = {
    "s3cmtf fit --absent zeros": (["--modes", "user,item"], ["--absent", "zeros"]),
    "s3cmtf fit --absent zeros, with month": (["--modes", "user,item,timestamp:month"], ["--absent", "zeros"]),
    "s3cmtf fit (ratings, with month)": (["--modes", "user,item,timestamp:month"], []),
}


def ours(command: str, train: pd.DataFrame, users: int, how: tuple[list[str], list[str]]) -> np.ndarray:
    """The lists that the command recommends."""
    modes, more = how
    with tempfile.TemporaryDirectory() as folder:
        table, model, out = (str(Path(folder) / name) for name in ("train.csv", "model", "lists.csv"))
        train[["user", "item", "timestamp", "rating"]].to_csv(table, index=False)
        said = [command, "fit", table, *modes, "--value", "rating", *more, "--threads", "2", "--quiet", "--out", model]
        subprocess.run(said, check=True, stdout=subprocess.DEVNULL)
        said = [command, "recommend", model, "--for", "user", "--mode", "item", "--top", str(TOP), "--out", out, "--quiet"]
        subprocess.run(said, check=True, stdout=subprocess.DEVNULL)
        best = pd.read_csv(out)
    found = np.full((users, TOP), -1)
    found[best.user.to_numpy(), best["rank"].to_numpy() - 1] = best.item.to_numpy()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ratings", type=Path)
    parser.add_argument("--command", default="target/release/s3cmtf")
    parser.add_argument("--untuned", action="store_true")
    parser.add_argument("--methods", default="", help="only those whose names have one of these words")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    words = [word.lower() for word in args.methods.split(",") if word]
    wanted = lambda name: not words or any(word in name.lower() for word in words)  # noqa: E731
    table = pd.read_csv(args.ratings)
    table["user"], table["item"] = pd.factorize(table.userId)[0], pd.factorize(table.movieId)[0]
    shape = (table.user.max() + 1, table.item.max() + 1)
    print("| split | method | NDCG@10 | recall@10 | NDCG@10, liked | seconds | setting |")
    print("|---|---|---|---|---|---|---|")
    for split, train, test in splits(table, args.seed):
        seen, known = matrix(train, shape), matrix(test, shape, "rating")

        def row(name: str, found: np.ndarray, seconds: float, setting: str) -> tuple[float, str]:
            some, liked = measure(found, known, -np.inf), measure(found, known, LIKED)
            cells = [f"{one.mean():.4f} +- {1.96 * one.std() / len(one) ** 0.5:.4f}" for one in some.values()]
            cells += [f"{liked['NDCG@10'].mean():.4f}", f"{seconds:.1f}", setting]
            return some["NDCG@10"].mean(), f"| {split} | {name} | " + " | ".join(cells) + " |"

        for name, method in METHODS.items():
            if not wanted(name):
                continue
            best, start = (-1.0, ""), time.perf_counter()
            for setting, scores in method(seen):
                best = max(best, row(name, lists(scores, seen), time.perf_counter() - start, setting))
                start = time.perf_counter()
                if args.untuned:
                    break
            print(best[1], flush=True)
        for name, how in OURS.items():
            if wanted(name):
                start = time.perf_counter()
                found = ours(args.command, train, shape[0], how)
                print(row(name, found, time.perf_counter() - start, "")[1], flush=True)


if __name__ == "__main__":
    main()
