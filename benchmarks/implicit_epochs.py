#!/usr/bin/env python3
"""Seconds per epoch and memory of implicit feedback, beside implicit's alternating least squares, in one run.

    python benchmarks/implicit_epochs.py [--command target/release/s3cmtf] [--users 100000] [--items 20000] [--choices 20000000]

Choices are made up: items of uneven popularity in 20 groups, and users who prefer one of them. Each method runs in a process of its own that reads the
same file, on two threads, for four epochs of rank 32, so that its largest memory is its own. implicit solves each row by three
steps of conjugate gradients (its default) or by a Cholesky factor; s3cmtf by a Cholesky factor, with a given regulariser,
and once with its defaults, which find the regulariser on held-out choices in more epochs. A tenth of the choices is held out, and each model must
find them better than the most popular items do. Needs numpy, scipy, pandas and implicit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GROUPS = 20
RANK = 32
EPOCHS = 4
THREADS = 2
USERS_MEASURED = 2000
TOP = 10


def choices(users: int, items: int, count: int) -> np.ndarray:
    """Distinct pairs of a user and an item, in random order."""
    generator = np.random.default_rng(1)
    popularity = (np.arange(items) + 20.0) ** -0.8
    generator.shuffle(popularity)
    item_group, user_group = generator.integers(GROUPS, size=items), generator.integers(GROUPS, size=users)
    active = generator.lognormal(0, 0.8, size=users)
    most = np.minimum(np.maximum(1, active / active.sum() * count * 1.15), items // 5).astype(int)
    keys = []
    for group in range(GROUPS):
        chance = np.cumsum(popularity * np.where(item_group == group, 8.0, 1.0))
        own = np.flatnonzero(user_group == group)
        drawn = np.searchsorted(chance, generator.random(most[own].sum()) * chance[-1])
        keys.append(np.repeat(own, most[own]) * items + np.minimum(drawn, items - 1))
    keys = np.unique(np.concatenate(keys))
    generator.shuffle(keys)
    return np.stack(np.divmod(keys[:count], items), axis=1).astype(np.int32)


def hits(rows: np.ndarray, columns: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """The share of some users' ten best unseen items that they have chosen in the part held out."""
    found = 0
    for user in range(USERS_MEASURED):
        scores = columns @ rows[user]
        scores[train[train[:, 0] == user, 1]] = -np.inf
        found += np.isin(np.argpartition(-scores, TOP)[:TOP], test[test[:, 0] == user, 1]).sum()
    return found / (TOP * USERS_MEASURED)


THEIRS = """
import json, sys, time
import numpy as np, scipy.sparse as sp
from implicit.als import AlternatingLeastSquares
file, out, by = sys.argv[1:4]
pairs = np.load(file)
shape = pairs.max(0) + 1
matrix = sp.csr_matrix((np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), shape=shape)
del pairs
model = AlternatingLeastSquares(factors=%d, iterations=%d, num_threads=%d, use_cg=by == "cg", random_state=1)
times = [time.perf_counter()]
model.fit(matrix, show_progress=False, callback=lambda *_: times.append(time.perf_counter()))
np.savez(out, users=model.user_factors, items=model.item_factors)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(json.dumps([float(np.diff(times)[1:].mean()), peak]))
""" % (RANK, EPOCHS, THREADS)


def theirs(folder: Path, by: str) -> tuple[float, float, np.ndarray, np.ndarray]:
    out = folder / f"{by}.npz"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-c", THEIRS, str(folder / "train.npy"), str(out), by]
    said = subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout
    seconds, peak = json.loads(said)
    found = np.load(out)
    return seconds, peak, found["users"], found["items"]


GIVEN = ["--epochs", EPOCHS, "--lambda-reg", 30, "--absent-weight", 0.2]


def ours(folder: Path, command: str, settings: list[object]) -> tuple[float, float, np.ndarray, np.ndarray]:
    model = folder / "model"
    asked = ["--absent", "zeros", "--rank", RANK, "--threads", THREADS, *settings]
    words = [command, "fit", folder / "train.s3cmtf", *asked, "--quiet", "--out", model]
    measured = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # What the operating system says of a child when it has ended would include its parent before it began.
    peak, status = 0, Path(f"/proc/{measured.pid}/status")
    while measured.poll() is None:
        said = [int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        peak = max([peak, *said])
        time.sleep(0.05)
    if measured.returncode != 0:
        raise SystemExit(f"{words[0]} fit failed")
    history = json.loads((model / "run.json").read_text())["history"]
    seconds = np.diff([epoch["seconds"] for epoch in history]).mean()
    tensors = read_safetensors(model / "model.safetensors")
    return seconds, peak / 1024, rows_by_id(tensors, 0), rows_by_id(tensors, 1)


def rows_by_id(tensors: dict[str, np.ndarray], mode: int) -> np.ndarray:
    factor = tensors[f"factor.{mode}"]
    ids = tensors.get(f"present.{mode}", np.arange(len(factor)))
    rows = np.zeros((ids.max() + 1, factor.shape[1]), np.float32)
    rows[ids] = factor
    return rows


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    kinds = {"F32": np.float32, "U32": np.uint32, "U64": np.uint64, "U8": np.uint8}
    return {
        name: np.frombuffer(raw[8 + length :][slice(*about["data_offsets"])], kinds[about["dtype"]]).reshape(about["shape"])
        for name, about in json.loads(raw[8 : 8 + length]).items()
        if name != "__metadata__"
    }


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--command", default="target/release/s3cmtf")
    words.add_argument("--users", type=int, default=100_000)
    words.add_argument("--items", type=int, default=20_000)
    words.add_argument("--choices", type=int, default=20_000_000)
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = choices(asked.users, asked.items, asked.choices)
        cut = len(pairs) - len(pairs) // 10
        train, test = pairs[:cut], pairs[cut:]
        np.save(folder / "train.npy", train)
        text = folder / "train.tns"
        np.savetxt(text, np.column_stack([train + 1, np.ones(len(train), np.int32)]), fmt="%d")
        subprocess.run([asked.command, "convert", text, "--out", folder / "train.s3cmtf"], check=True, capture_output=True)
        text.unlink()
        some, later = train[train[:, 0] < USERS_MEASURED], test[test[:, 0] < USERS_MEASURED]
        popular = np.bincount(train[:, 1], minlength=asked.items)[:, None].astype(float)
        least = hits(np.ones((USERS_MEASURED, 1)), popular, some, later)
        print(f"{asked.users} users, {asked.items} items, {len(train)} choices in training, rank {RANK}, {THREADS} threads")
        print(f"{'':24} {'s/epoch':>8} {'MB':>8} {'precision@10':>13}")
        print(f"{'most popular':24} {'':8} {'':8} {least:13.4f}")
        runs = [("implicit, 3 steps of CG", theirs(folder, "cg")), ("implicit, Cholesky", theirs(folder, "cholesky"))]
        runs.append(("s3cmtf", ours(folder, asked.command, GIVEN)))
        runs.append(("s3cmtf, defaults", ours(folder, asked.command, [])))
        for method, (seconds, peak, rows, columns) in runs:
            found = hits(rows, columns, some, later)
            print(f"{method:24} {seconds:8.2f} {peak:8.0f} {found:13.4f}")
            assert found > least, f"{method} is no better than the most popular items"


if __name__ == "__main__":
    main()
