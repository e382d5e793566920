"""Pictures of a fitted model: what is in them. How they are drawn is in ``_plot_altair`` and ``_plot_matplotlib``."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ._parts import Array, place_of
from ._results import Cluster, Concept, spelled

if TYPE_CHECKING:
    from ._discovery import Clusters, Concepts
    from ._s3cmtf import Run

BACKENDS = ("altair", "matplotlib")
POINTS = 3000
"""No map has more points: they would hide each other, and a notebook would have to carry them."""
LONGEST = 28
"""Longer names are cut."""
COLOURS = ("#b5651d", "#f7f7f7", "#2a6f97")
"""Of what is below 0, is 0 and is above."""


def cut(text: str, most: int = LONGEST) -> str:
    """A name that fits.

    >>> cut("The Lord of the Rings: The Fellowship of the Ring")
    'The Lord of the Rings: The …'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True)
class Lines:
    """Numbers over places, a line per name."""

    title: str
    across: Sequence[Any]
    across_title: str
    lines: Mapping[str, Sequence[float]]
    up_title: str


@dataclass(frozen=True)
class Bars:
    """A bar per name, to the right or to the left."""

    title: str
    names: Sequence[str]
    values: Sequence[float]


@dataclass(frozen=True)
class Panels:
    """Pictures side by side."""

    panels: Sequence[Bars | Lines]


@dataclass(frozen=True)
class Heat:
    """A number per pair; what is not a number is left empty."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Array
    row_title: str
    column_title: str
    value_title: str


@dataclass(frozen=True)
class Points:
    """A map: a point per name, in groups that have a label and a place for their number."""

    title: str
    names: Sequence[str]
    places: Array
    groups: Array
    labels: Sequence[str]
    centres: Array


Picture = Lines | Panels | Heat | Points


def backend_of(asked: str | None) -> str:
    """The library that draws: the one that was asked for, else the first that is installed."""
    if asked is not None and asked not in BACKENDS:
        raise ValueError(f'backend should be "altair" or "matplotlib", but is {asked!r}')
    wanted = BACKENDS if asked is None else (asked,)
    found = next((name for name in wanted if importlib.util.find_spec(name) is not None), None)
    if found is None:
        raise ImportError(
            "plots need altair or matplotlib: pip install altair, or pip install matplotlib"
            if asked is None
            else f"{asked} is not installed: pip install {asked}"
        )
    return found


class Fitted(Protocol):
    """What pictures need of a fitted model."""

    record_: dict[str, Any]

    @property
    def validation_curve_(self) -> Array: ...

    def _fitted(self) -> Run: ...

    def concepts(self, mode: str | None = None, *, n: int = 5) -> Concepts: ...

    def clusters(self, mode: str, k: int | str = "auto", *, most: int = 20, n: int = 10, seed: int = 1) -> Clusters: ...


class Plot:
    """What ``model.plot`` is: each method gives an Altair chart, or a matplotlib figure where Altair is not installed.

    ``backend="matplotlib"`` or ``"altair"`` asks for one of them.
    """

    def __init__(self, model: Fitted) -> None:
        self._model = model

    def history(self, *, backend: str | None = None) -> Any:
        """The RMSE of each epoch: training, test, and validation with ``patience``."""
        return self._draw(self._history(), backend)

    def concepts(self, mode: str, *, most: int = 6, n: int = 4, backend: str | None = None) -> Any:
        """The strongest concepts of a mode, at most ``most``: ``n`` entities at either end; for a mode of times, its course.

        Those with less than 1 % of the variance are left out.
        """
        return self._draw(self._concepts(mode, most, n), backend)

    def core(self, rows: str | None = None, columns: str | None = None, *, backend: str | None = None) -> Any:
        """How the concepts of two modes interact: what a pair adds to the value, averaged over all other modes.

        Without names these are the first two modes. The row and the column of the mean are what a concept adds for the
        average entity of the other mode.
        """
        return self._draw(self._core(rows, columns), backend)

    def clusters(
        self,
        mode: str,
        k: int | str = "auto",
        *,
        most: int = 20,
        seed: int = 1,
        backend: str | None = None,
    ) -> Any:
        """A map of a mode's entities, near to each other where predictions are similar, coloured by cluster."""
        return self._draw(self._clusters(mode, k, most, seed), backend)

    @staticmethod
    def _draw(picture: Picture, backend: str | None) -> Any:
        return importlib.import_module(f"._plot_{backend_of(backend)}", __package__).draw(picture)

    def _history(self) -> Lines:
        self._model._fitted()
        epochs, watched = self._model.record_["history"], self._model.validation_curve_.tolist()
        curves = {"training": "train_rmse", "test": "test_rmse"}
        lines = {
            label: [np.nan if epoch[name] is None else epoch[name] for epoch in epochs]
            for label, name in curves.items()
            if any(epoch[name] is not None for epoch in epochs)
        }
        if watched:
            lines["validation"] = watched
        # What patience watched has epochs behind the best, which show that it was.
        length = max(len(epochs), len(watched))
        padded = {label: [*line, *[np.nan] * (length - len(line))] for label, line in lines.items()}
        return Lines("", list(range(1, length + 1)), "epoch", padded, "RMSE")

    def _concepts(self, mode: str, most: int, n: int) -> Panels:
        found = self._model.concepts(mode, n=n)
        run = self._model._fitted()
        names = run.names(place_of(run, mode))
        strong = [concept for concept in found.described if concept["telling"]] or found.described[:1]
        return Panels([self._concept(concept, names) for concept in strong[:most]])

    @staticmethod
    def _concept(concept: Concept, names: list[str]) -> Bars | Lines:
        title = f"{concept['name']}, {concept['strength']:.0%}"
        if concept["about"] or concept["opposite"]:
            title += f": {cut(concept['about'])}\nopposite: {cut(concept['opposite'])}"
        times = concept.get("times") or []
        if [time["name"] for time in times] == names:
            scores = {concept["name"]: [time["score"] for time in times]}
            return Lines(title, names, concept["mode"], scores, "score")
        entities = concept["strongest"] + concept["weakest"][::-1]
        return Bars(title, [one["name"] for one in entities], [one["score"] for one in entities])

    def _core(self, rows: str | None, columns: str | None) -> Heat:
        found = self._model.concepts(n=1)
        run = self._model._fitted()
        modes = run.modes()
        said = [None if name is None else place_of(run, name) for name in (rows, columns)]
        free = [place for place in range(len(modes)) if place not in said]
        down, across = [free.pop(0) if place is None else place for place in said]
        if down == across:
            raise ValueError(f"rows and columns should be two modes, but both are {modes[down]}")
        values = _average_of_others(found, modes, (down, across))
        values = values if down < across else values.T
        labels = [[_label(found, name) for name in found.core_names[modes[place]]] for place in (down, across)]
        if labels[0][0] == labels[1][0] == "mean":
            # That is the mean value, beside which everything else would look pale.
            values = values.copy()
            values[0, 0] = np.nan
        others = [mode for place, mode in enumerate(modes) if place not in (down, across)]
        title = f"with the average {' and '.join(others)}" if others else ""
        return Heat(title, labels[0], labels[1], values, modes[down], modes[across], f"adds to {run.value() or 'value'}")

    def _clusters(self, mode: str, k: int | str, most: int, seed: int) -> Points:
        found = self._model.clusters(mode, k, most=most, n=2, seed=seed)
        run = self._model._fitted()
        names = run.names(place_of(run, mode))
        labels = [f"{one['cluster']}: {cut(_marks(one))} ({one['size']})" for one in found.described]
        numbers = [one["cluster"] for one in found.described]
        centres = np.array([found.map[found.labels == number].mean(axis=0) for number in numbers])
        shown = np.arange(len(names))
        title = ""
        if len(names) > POINTS:
            shown = np.linspace(0, len(names) - 1, POINTS).astype(np.int64)
            title = f"{POINTS} of {len(names)}"
        return Points(title, [names[row] for row in shown], found.map[shown], found.labels[shown], labels, centres)


def _average_of_others(found: Concepts, modes: list[str], kept: tuple[int, int]) -> Array:
    """The core with the average entity of every mode but two. Scores have the mean 0 where the mean is a concept of its own."""
    core = np.asarray(found.core, dtype=np.float64)
    for place in reversed(range(len(modes))):
        if place not in kept:
            scores = found.scores[modes[place]].mean(axis=0, dtype=np.float64)
            weights = np.concatenate([[1.0], np.zeros(len(scores))]) if core.shape[place] > len(scores) else scores
            core = np.tensordot(core, weights, axes=(place, 0))
    return core


def _label(found: Concepts, name: str) -> str:
    about = next((concept["about"] for concept in found.described if concept["name"] == name), "")
    return cut(f"{name} {about}".strip(), 22)


def _marks(cluster: Cluster) -> str:
    """What marks a cluster out: a column of each coupled matrix, or two of the only one; else whoever is most typical."""
    marks = [
        [spelled(mark["matrix"], column["name"]) for column in mark["columns"]]
        for mark in cluster["marks"]
        if mark["columns"]
    ]
    told = marks[0][:2] if len(marks) == 1 else [columns[0] for columns in marks]
    return ", ".join(told or [one["name"] for one in cluster["typical"]])
