"""A world whose truth is known, small enough to be trained on in a second."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

GENRES = ["Action", "Comedy", "Crime", "Drama"]


class World:
    """Ratings of users for films over months; users and films lean to genres, which say what they like."""

    def __init__(self, seed: int = 7) -> None:
        random = np.random.default_rng(seed)
        users, films, months = 150, 60, 6
        lean = random.integers(0, len(GENRES), users)
        kind = random.integers(0, len(GENRES), films)
        cells = random.choice(users * films * months, 6000, replace=False)
        user, film, month = np.unravel_index(cells, (users, films, months))
        truth = 2.5 + 1.5 * (lean[user] == kind[film]) - 0.05 * month
        stars = np.round(truth + random.normal(0, 0.2, len(cells)), 2)
        times = np.array(
            [f"2017-{m + 1:02}-{1 + (u + f) % 28:02}" for u, f, m in zip(user, film, month)], dtype="datetime64[s]"
        )
        self.truth = truth
        self.kind = kind
        self.frame = pd.DataFrame({"user": user + 100, "film": [f"Film {f}" for f in film], "date": times, "stars": stars})
        self.train, self.test = (
            self.frame.iloc[:5000].reset_index(drop=True),
            self.frame.iloc[5000:].reset_index(drop=True),
        )
        self.genres = pd.DataFrame({"film": [f"Film {f}" for f in range(films)], "genre": [GENRES[k] for k in kind]})
        self.words = {"modes": ["user", "film", "date:month"], "value": "stars"}


@pytest.fixture(scope="session")
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def fitted(world: World):
    import s3cmtf

    couple = [s3cmtf.Coupled("film", world.genres, absent="zeros")]
    model = s3cmtf.S3CMTF(rank=5, epochs=30, seed=3)
    return model.fit(world.train, couple=couple, eval_set=world.test, **world.words)


@pytest.fixture(scope="session")
def command():
    """The command that was built from the same library."""
    said = os.environ.get("S3CMTF_COMMAND")
    path = Path(said) if said else Path(__file__).resolve().parents[3] / "target" / "debug" / "s3cmtf"
    assert path.exists(), f"{path}: the command is not built"

    def run(*words: str) -> str:
        done = subprocess.run([str(path), *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.path = str(path)
    return run
