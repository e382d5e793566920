"""What a model says: recommendations, likeness, clusters, concepts, a report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _s3cmtf
from ._frames import frame
from ._parts import Array


@dataclass(frozen=True)
class Clusters:
    """Clusters of a mode: ``of`` is the table of entities and their clusters, ``described`` says what each has in common."""

    mode: str
    of: Any
    described: list[dict[str, Any]]
    labels: Array

    def __len__(self) -> int:
        return len(self.described)


@dataclass(frozen=True)
class Concepts:
    """Concepts: ``table`` has a row each, ``described`` all that is known of them, ``scores`` how much entities have of them."""

    table: Any
    described: list[dict[str, Any]]
    interactions: list[dict[str, Any]]
    scores: dict[str, Array]


class Discovery:
    """The part of the estimator that looks at a fitted model."""

    if TYPE_CHECKING:

        def _fitted(self) -> _s3cmtf.Run: ...

        def names(self, mode: str) -> Array: ...

    def _frame(self, columns: dict[str, Any]) -> Any:
        return frame(columns, self.__dict__.get("_library", ""))

    def _column(self, mode: int, rows: Array) -> Any:
        """The names of rows of a mode, of the type that they had in the data."""
        run = self._fitted()
        name = run.modes()[mode]
        names = self.names(name)
        values = names[rows]
        if self.__dict__.get("_kinds", {}).get(name) == "category" and self.__dict__.get("_library") == "pandas":
            import pandas

            return pandas.Categorical(values, categories=names)
        return values

    def recommend(
        self,
        by: str,
        entity: Any = None,
        items: str | None = None,
        *,
        n: int = 10,
        where: Mapping[str, Any] | None = None,
        at: Mapping[str, Any] | None = None,
        include_seen: bool = False,
    ) -> Any:
        """The best items for an entity that it has not been seen with, as a table with predictions and reasons.

        Parameters
        ----------
        by, entity : for whom: a mode, and one of its entities, a list of them, or None for all.
        items : the mode of what is recommended; None is the other one, where there are two.
        n : how many for each.
        where : only items that have these columns of coupled matrices: ``{"genre": "Comedy"}``.
        at : which entities stand for the other modes: ``{"date": "2017-05"}``; without it the latest time, and the average.
        include_seen : whether what was seen is recommended, too.

        >>> import s3cmtf
        >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
        >>> model = s3cmtf.S3CMTF(rank=2, epochs=20).fit(films, modes=["user", "film"], value="stars")
        >>> list(model.recommend("user", 2, "film")["film"])
        ['A']
        """
        run = self._fitted()
        by_mode, item_mode = run.mode(str(by)), self._items(by, items)
        entities = (
            None
            if entity is None
            else [str(one) for one in (entity if isinstance(entity, (list, tuple, np.ndarray)) else [entity])]
        )
        others = [(run.mode(str(mode)), str(name)) for mode, name in (at or {}).items()]
        having = [(str(matrix), str(column)) for matrix, column in (where or {}).items()]
        whom, what, values, reasons = _s3cmtf.recommend(run, by_mode, entities, item_mode, n, others, having, include_seen)
        ranks = np.concatenate([np.arange(1, count + 1) for count in _runs(whom)]) if len(whom) else np.arange(0)
        return self._frame(
            {
                run.modes()[by_mode]: self._column(by_mode, whom),
                "rank": ranks,
                run.modes()[item_mode]: self._column(item_mode, what),
                f"predicted_{run.value() or 'value'}": values,
                "reason": np.array(reasons, dtype=object),
            }
        )

    def _items(self, by: str, items: str | None) -> int:
        run = self._fitted()
        if items is not None:
            return run.mode(str(items))
        others = [mode for mode in run.modes() if mode != by]
        if len(others) != 1:
            raise ValueError(f"items should be one of the modes {', '.join(others)}")
        return run.mode(others[0])

    def similar(self, mode: str, entity: Any, *, n: int = 10) -> Any:
        """The entities of a mode that are most like one of them, with the cosine of the angle between them."""
        run = self._fitted()
        found = json.loads(_s3cmtf.similar(run, run.mode(str(mode)), str(entity), n))
        return self._frame({str(mode): _texts(found, "name"), "likeness": np.array([one["score"] for one in found])})

    def clusters(self, mode: str, k: int | str = "auto", *, most: int = 20, n: int = 10, seed: int = 1) -> Clusters:
        """Entities of a mode that are alike; ``"auto"`` takes as many clusters as the gap statistic finds, up to ``most``."""
        run = self._fitted()
        place = run.mode(str(mode))
        if isinstance(k, str) and k != "auto":
            raise ValueError(f'k should be a number or "auto", but is {k!r}')
        text, labels = _s3cmtf.clusters(run, place, None if isinstance(k, str) else k, most, n, seed)
        numbers = labels.astype(np.int64) + 1
        of = self._frame({run.modes()[place]: self._column(place, np.arange(len(labels))), "cluster": numbers})
        return Clusters(run.modes()[place], of, json.loads(text)["clusters"], numbers)

    def concepts(self, mode: str | None = None, *, n: int = 10) -> Concepts:
        """What the model has found: what its concepts mean, of one mode or of all, and which of them go together."""
        run = self._fitted()
        text, scores = _s3cmtf.concepts(run, n)
        found = json.loads(text)
        wanted = run.modes() if mode is None else [run.modes()[run.mode(str(mode))]]
        described = [concept for concept in found["concepts"] if concept["mode"] in wanted]
        strongest = [", ".join(one["name"] for one in concept["strongest"]) for concept in described]
        table = {
            "concept": _texts(described, "name"),
            "mode": _texts(described, "mode"),
            "strength": np.array([concept["strength"] for concept in described]),
            "about": _texts(described, "about"),
            "strongest": np.array(strongest, dtype=object),
        }
        by_mode = {name: array for name, array in zip(run.modes(), scores, strict=True) if name in wanted}
        return Concepts(self._frame(table), described, found["interactions"], by_mode)

    def report(self, path: str | os.PathLike[str], *, title: str = "model") -> None:
        """Writes one page about the run: errors, concepts, clusters, recommendations. It opens offline."""
        _s3cmtf.write_report(self._fitted(), os.fspath(path), title)


def _texts(rows: list[dict[str, Any]], name: str) -> Array:
    return np.array([row[name] for row in rows], dtype=object)


def _runs(rows: Array) -> list[int]:
    """How often each row comes in a row."""
    changes = np.flatnonzero(np.diff(rows)) + 1
    return [len(part) for part in np.split(rows, changes)]
