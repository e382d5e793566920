"""What a model says: recommendations, likeness, clusters, concepts, a report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _s3cmtf
from ._checks import number, switch, text, whole
from ._frames import Table, frame, label
from ._parts import Array, place_of
from ._results import Cluster, Concept, GapCurve, Interaction, Scored, spelled


@dataclass(frozen=True, repr=False)
class Clusters:
    """Clusters of a mode: ``of`` is the table of entities and their clusters, ``described`` says what each has in common.

    ``labels`` has the cluster of each row, ``map`` where it lies on a flat map, and ``gap`` how many clusters were tried and
    how well they fitted, where their number was not given.
    """

    mode: str
    of: Table
    described: list[Cluster]
    labels: Array
    map: Array
    gap: GapCurve | None = None

    def __len__(self) -> int:
        return len(self.described)

    def __repr__(self) -> str:
        def line(one: Cluster) -> str:
            marks = [
                f"{spelled(matrix['matrix'], mark['name'])} x{mark['lift']:.1f}"
                for matrix in one["marks"]
                for mark in matrix["columns"][:2]
            ]
            return f"{one['cluster']:>4} {one['size']:>8}  {_listed(one['typical'])}" + (
                f"; {', '.join(marks)}" if marks else ""
            )

        return "\n".join([f"{len(self)} clusters of {self.mode}:", *map(line, self.described)])


@dataclass(frozen=True, repr=False)
class Concepts:
    """Concepts: ``table`` has a row each, ``described`` all that is known of them, ``scores`` how much entities have of them.

    ``core`` is the core of all concepts: what a combination adds to the value where each entity has 1 of its concept.
    ``core_names`` says which these are, mode by mode; ``"mean"`` is the mean entity.
    """

    table: Table
    described: list[Concept]
    interactions: list[Interaction]
    scores: dict[str, Array]
    core: Array
    core_names: dict[str, list[str]]

    def __repr__(self) -> str:
        def line(one: Concept) -> str:
            about = " / ".join(words for words in (one["about"], one["opposite"]) if words)
            words = f"{about}; " if about else ""
            return f"{one['name']:<4} {one['strength']:>4.0%}  {words}{_listed(one['strongest'])}"

        return "\n".join([f"{len(self.described)} concepts:", *map(line, self.described)])


def _listed(some: Sequence[Scored]) -> str:
    """The first names."""
    return ", ".join(one["name"] for one in some[:3])


class Discovery:
    """The part of the estimator that looks at a fitted model."""

    if TYPE_CHECKING:

        def _fitted(self) -> _s3cmtf.Run: ...

        def names(self, mode: str) -> Array: ...

        def _label(self, mode: int, entity: Any) -> str: ...

    def _frame(self, columns: dict[str, Any]) -> Table:
        return frame(columns, self.__dict__.get("_library", ""))

    def _column(self, mode: int, rows: Array) -> Any:
        """The names of rows of a mode, of the type that they had in the data."""
        run = self._fitted()
        name = run.modes()[mode]
        names = self.names(name)
        values = names[rows]
        kind = self.__dict__.get("_kinds", {}).get(name)
        if kind is not None and kind.is_category and self.__dict__.get("_library") == "pandas":
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
        caution: float = 0.0,
        score: str | None = None,
        clip: bool | None = None,
    ) -> Table:
        """The best items for an entity that it has no entry with, as a table with predictions and reasons.

        Parameters
        ----------
        by, entity : for whom: a mode, and one of its entities, a list of them, or None for all.
        items : the mode of the items; None is the other one, where there are two.
        n : how many for each.
        where : only items that have these columns of coupled matrices: ``{"genre": "Comedy"}``, or one of several:
            ``{"genre": ["Comedy", "Drama"]}``.
        at : the entities to assume for the other modes: ``{"date": "2017-05"}``; without it the average one of each.
        include_seen : whether to include items with a training entry.
        caution : risk aversion: rank by the prediction minus this many posterior standard deviations, so that
            items with few entries do not come first.
        score : what to rank by: ``"rating"``, the predicted value; ``"choice"``, how likely an item is chosen, learnt from which cells
            have a value; or ``"both"``: how likely it is chosen, times how far the predicted value is above the lowest. None is
            both, where the model knows what is chosen and there is no caution, else rating.
        clip : whether to clip predictions to the range of the training values; if it is None, those of ``bayes`` are.
            The order is the same.

        >>> import s3cmtf
        >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
        >>> model = s3cmtf.S3CMTF(rank=2, epochs=20).fit(films, modes=["user", "film"], value="stars")
        >>> list(model.recommend("user", 2, "film")["film"])
        ['A']
        """
        run = self._fitted()
        by_mode, item_mode = place_of(run, by), self._items(by, items)
        some = None if entity is None else entity if np.ndim(entity) > 0 else [entity]
        entities = None if some is None else [self._label(by_mode, one) for one in some]
        having = [(str(matrix), _several(columns)) for matrix, columns in (where or {}).items()]
        whom, what, values, reasons = _s3cmtf.recommend(
            run,
            by_mode,
            entities,
            item_mode,
            whole("n", n),
            self._others(at),
            having,
            bool(include_seen),
            number("caution", caution),
            text("score", score, "both"),
            switch(clip),
        )
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

    def profile(
        self, by: str, entity: Any, items: str | None = None, *, at: Mapping[str, Any] | None = None, n: int = 10
    ) -> Table:
        """The profile of an entity: what the concepts of ``items`` contribute to its predictions, strongest first.

        ``adds`` is what 1 of a concept adds to its predictions, ``usual`` what it adds to those of the average entity.

        >>> import s3cmtf
        >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
        >>> model = s3cmtf.S3CMTF(rank=2, epochs=20).fit(films, modes=["user", "film"], value="stars")
        >>> list(model.profile("user", 2, "film"))
        ['concept', 'strength', 'adds', 'usual', 'about', 'opposite', 'strongest', 'weakest']
        """
        run = self._fitted()
        by_mode, item_mode = place_of(run, by), self._items(by, items)
        name = self._label(by_mode, entity)
        found = json.loads(_s3cmtf.profile(run, by_mode, name, item_mode, self._others(at), whole("n", n)))
        numbers = {"strength": "own_strength", "adds": "adds", "usual": "usual"}
        return self._frame(
            {
                "concept": _texts(found, "name"),
                **{heading: np.array([worth[name] for worth in found]) for heading, name in numbers.items()},
                "about": _texts(found, "about"),
                "opposite": _texts(found, "opposite"),
                **{end: _joined(found, end) for end in ("strongest", "weakest")},
            }
        )

    def _others(self, at: Mapping[str, Any] | None) -> list[tuple[int, str]]:
        """What stands for the other modes."""
        run = self._fitted()
        places = [(place_of(run, mode), entity) for mode, entity in (at or {}).items()]
        return [(place, self._label(place, entity)) for place, entity in places]

    def _items(self, by: str, items: str | None) -> int:
        run = self._fitted()
        if items is not None:
            return place_of(run, items)
        own = place_of(run, by)
        others = [mode for place, mode in enumerate(run.modes()) if place != own]
        if len(others) != 1:
            raise ValueError(f"items should be one of the modes {', '.join(others)}")
        return run.mode(others[0])

    def similar(self, mode: str, entity: Any, *, n: int = 10, level: bool = False) -> Table:
        """The entities of a mode that are most similar to one of them, by cosine similarity.

        ``level`` includes how high values are overall (the main effect); without it, films are not similar just because both are good.
        """
        run = self._fitted()
        place = place_of(run, mode)
        found: list[Scored] = json.loads(_s3cmtf.similar(run, place, self._label(place, entity), whole("n", n), bool(level)))
        rows = {name: row for row, name in enumerate(run.names(place))}
        alike = self._column(place, np.array([rows[one["name"]] for one in found], dtype=np.int64))
        return self._frame({run.modes()[place]: alike, "likeness": np.array([one["score"] for one in found])})

    def clusters(
        self, mode: str, k: int | str = "auto", *, most: int = 20, n: int = 10, seed: int = 1, level: bool = False
    ) -> Clusters:
        """Clusters the entities of a mode by k-means; ``"auto"`` chooses their number by the gap statistic, up to ``most``.

        ``level`` includes how high values are overall (the main effect).
        """
        run = self._fitted()
        place = place_of(run, mode)
        if isinstance(k, str) and k != "auto":
            raise ValueError(f'k should be a number or "auto", but is {k!r}')
        count = None if isinstance(k, str) else whole("k", k)
        text, labels, places = _s3cmtf.clusters(
            run, place, count, whole("most", most), whole("n", n), whole("seed", seed), bool(level)
        )
        numbers = labels.astype(np.int64) + 1
        of = self._frame({run.modes()[place]: self._column(place, np.arange(len(labels))), "cluster": numbers})
        found = json.loads(text)
        return Clusters(run.modes()[place], of, found["clusters"], numbers, places, found.get("gap"))

    def concepts(self, mode: str | None = None, *, n: int = 5) -> Concepts:
        """The latent concepts of one mode or of all, rotated for interpretation, and their strongest interactions."""
        run = self._fitted()
        text, scores, core = _s3cmtf.concepts(run, whole("n", n))
        found = json.loads(text)
        wanted = run.modes() if mode is None else [run.modes()[place_of(run, mode)]]
        described: list[Concept] = [concept for concept in found["concepts"] if concept["mode"] in wanted]
        names = {name: [concept["name"] for concept in found["concepts"] if concept["mode"] == name] for name in run.modes()}
        # A core of many modes and ranks has more numbers than anybody reads: there is none.
        core_names = {
            name: ["mean", *own][-core.shape[place] :] if core.size else []
            for place, (name, own) in enumerate(names.items())
        }
        table = {
            "concept": _texts(described, "name"),
            "mode": _texts(described, "mode"),
            "strength": np.array([concept["strength"] for concept in described]),
            "about": _texts(described, "about"),
            "strongest": _joined(described, "strongest"),
        }
        by_mode = {name: array for name, array in zip(run.modes(), scores, strict=True) if name in wanted}
        return Concepts(self._frame(table), described, found["interactions"], by_mode, core, core_names)

    def report(self, path: str | os.PathLike[str], *, title: str = "model") -> None:
        """Writes one page about the run: errors, concepts, clusters, recommendations. It opens offline."""
        _s3cmtf.write_report(self._fitted(), os.fspath(path), title)


def _several(columns: Any) -> list[str]:
    """One or several columns of a matrix, by name."""
    return [label(column, None) for column in (columns if np.ndim(columns) > 0 else [columns])]


def _texts(rows: Sequence[Mapping[str, Any]], name: str) -> Array:
    return np.array([row[name] for row in rows], dtype=object)


def _joined(rows: Sequence[Mapping[str, Any]], name: str) -> Array:
    return np.array([", ".join(one["name"] for one in row[name]) for row in rows], dtype=object)


def _runs(rows: Array) -> list[int]:
    """How often each row comes in a row."""
    changes = np.flatnonzero(np.diff(rows)) + 1
    return [len(part) for part in np.split(rows, changes)]
