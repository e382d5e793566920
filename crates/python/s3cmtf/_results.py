"""Dictionaries that come out of a model: their keys, for those who look them up and for type checkers."""

from __future__ import annotations

from typing import TypedDict


class Scored(TypedDict):
    """Something by name, and how much of it there is."""

    name: str
    score: float


class Mark(TypedDict):
    """A column of a coupled matrix that the entities of a cluster have more often than others: ``share`` of them, ``lift`` times as many."""

    name: str
    share: float
    lift: float


class Marks(TypedDict):
    """The columns of one matrix that mark a cluster out."""

    matrix: str
    columns: list[Mark]


class Cluster(TypedDict):
    """A cluster, counted from 1: how many entities it has, those that are most typical, and what marks them out."""

    cluster: int
    size: int
    typical: list[Scored]
    marks: list[Marks]


class Gap(TypedDict):
    """The gap statistic of so many clusters, and its standard error."""

    k: int
    gap: float
    error: float


class GapCurve(TypedDict):
    """The gap statistic from 1 cluster on, and the number that it picks."""

    gaps: list[Gap]
    k: int


class Columns(TypedDict):
    """The columns of one matrix that go with a concept, with their correlations."""

    matrix: str
    columns: list[Scored]


class _Concept(TypedDict):
    name: str
    mode: str
    strength: float
    level: bool
    telling: bool
    about: str
    opposite: str
    strongest: list[Scored]
    weakest: list[Scored]
    columns: list[Columns]


class Concept(_Concept, total=False):
    """What some entities of a mode have in common; ``times`` only where there is a mode of times."""

    times: list[Scored]


class Interaction(TypedDict):
    """Concepts of several modes that go together, and what that adds to the value."""

    concepts: list[str]
    value: float


class _Measures(TypedDict):
    recall: float
    ndcg: float
    ndcg_interval: float
    map: float
    hit_rate: float
    coverage: float


class Measures(_Measures, total=False):
    """How good recommendations are: mean recall, NDCG (with half the width of its 95 % interval) and average precision, the share of those
    with a hit, the share of items that anybody is recommended, and how rare what is recommended is, in bits."""

    novelty: float


class _Ranking(Measures):
    rank_by: str
    items: str
    score: str
    k: int
    measured: int
    of: int
    without_seen: bool


class Ranking(_Ranking, total=False):
    """The same with how it was measured: ``k`` items for ``measured`` of ``of`` entities; ``popular`` is what most popular
    items come to, ``item_knn`` what those do that are most like what training has, and ``ease`` a regression of every item on all
    others, if ``baselines`` asks for them."""

    popular: Measures
    item_knn: Measures
    ease: Measures


class _EpochRecord(TypedDict):
    epoch: int
    seconds: float
    entries_per_second: float
    train_rmse: float
    test_rmse: float | None
    evaluation_seconds: float


class EpochRecord(_EpochRecord, total=False):
    """What an epoch came to; ``rate`` is that of gradient descent, ``validation_rmse`` what patience watches."""

    rate: float
    validation_rmse: float


class SimpleErrors(TypedDict):
    """The errors of simple predictions: the mean, and that with an offset for each entity."""

    mean_rmse: float | None
    offsets_rmse: float | None


def spelled(matrix: str, column: str) -> str:
    """A column as it is named where nothing else says of which matrix it is: 56 says nothing alone.

    >>> spelled("user/age", "56"), spelled("film/genre", "Comedy")
    ('age=56', 'Comedy')
    """
    return column if any(map(str.isalpha, column)) else f"{matrix.partition('/')[2] or matrix}={column}"
