"""A made-up world whose truth is known, to try things out on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _s3cmtf
from ._checks import number, whole
from ._frames import Table, frame
from ._parts import Array


@dataclass(frozen=True, repr=False)
class World:
    """Users rate businesses over months. Tables have the headings user, business, month and stars.

    ``ratings`` are for training and ``test`` for a test; ``friends`` are pairs of users, ``categories`` and ``cities`` those
    of businesses. No prediction of new ratings has a smaller RMSE than ``noise``. ``truth`` and ``test_truth`` are the
    ratings without it, ``themes`` the planted group of each business, by name, and ``groups`` those of users.
    """

    ratings: Table
    test: Table
    friends: Table
    categories: Table
    cities: Table
    noise: float
    truth: Array
    test_truth: Array
    themes: dict[str, str]
    groups: dict[str, int]

    def __repr__(self) -> str:
        sizes = f"{len(self.groups)} users, {len(self.themes)} businesses"
        return f"World({sizes}, {len(self.truth)} ratings, {len(self.test_truth)} for a test, noise {self.noise})"


def make_world(
    *,
    users: int = 2000,
    businesses: int = 800,
    months: int = 24,
    ratings: int = 60_000,
    noise: float = 0.5,
    seed: int = 1,
) -> World:
    """Makes the world of ``s3cmtf demo``, or a smaller or larger one; the same for the same numbers.

    >>> import s3cmtf
    >>> world = s3cmtf.make_world(users=100, businesses=40, ratings=2000)
    >>> list(world.ratings), len(world.ratings["stars"]), world.noise
    (['user', 'business', 'month', 'stars'], 1600, 0.5)
    """
    cells, names, groups, truth, scatter = _s3cmtf.world(
        whole("users", users),
        whole("businesses", businesses),
        whole("months", months),
        whole("ratings", ratings),
        number("noise", noise),
        whole("seed", seed),
    )
    user, business, month, category, city, theme = (np.array(some, dtype=object) for some in names)

    def table(place: int, columns: dict[str, Array], values: str | None = None) -> Table:
        ids, numbers = cells[place]
        named: dict[str, Any] = {heading: labels[rows] for (heading, labels), rows in zip(columns.items(), ids, strict=True)}
        return frame(named if values is None else {**named, values: numbers.astype(np.float64)})

    rated = {"user": user, "business": business, "month": month}
    return World(
        ratings=table(0, rated, "stars"),
        test=table(1, rated, "stars"),
        friends=table(2, {"user": user, "friend": user}),
        categories=table(3, {"business": business, "category": category}),
        cities=table(4, {"business": business, "city": city}),
        noise=scatter,
        truth=truth[0],
        test_truth=truth[1],
        themes=dict(zip(business.tolist(), theme[groups[1]].tolist(), strict=True)),
        groups=dict(zip(user.tolist(), groups[0].tolist(), strict=True)),
    )
