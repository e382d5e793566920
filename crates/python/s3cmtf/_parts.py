"""The parts of a model, with the names of what they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _s3cmtf
from ._frames import frame

Array = np.ndarray[Any, Any]


def heading(label: Any) -> str:
    """What a column is called whose label is a number, and its mode: a number alone would be taken for a place."""
    return f"column {label}"


def place_of(run: _s3cmtf.Run, mode: Any) -> int:
    """The place of a mode that goes by this name, or by the number that is the label of its column."""
    return run.mode(heading(mode) if heading(mode) in run.modes() else str(mode))


class Factors(Mapping[str, Array]):
    """The factor of each mode by its name: a row per entity, a column per concept."""

    def __init__(self, run: _s3cmtf.Run, names: Callable[[str], Array], library: str) -> None:
        self._run = run
        self._names = names
        self._library = library

    def __getitem__(self, mode: str) -> Array:
        return self._run.factor(place_of(self._run, mode))[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._run.modes())

    def __len__(self) -> int:
        return len(self._run.modes())

    def __repr__(self) -> str:
        return "Factors(" + ", ".join(f"{mode}: {factor.shape}" for mode, factor in self.items()) + ")"

    def names(self, mode: str) -> Array:
        """The entities of a mode, in the order of its rows."""
        return self._names(mode)

    def frame(self, mode: str) -> Any:
        """The factor as a table, with the entities in its first column."""
        return _frame(self._run.modes()[place_of(self._run, mode)], self.names(mode), self[mode], self._library)


@dataclass(frozen=True, repr=False)
class CoupledFactor:
    """What a model knows of a coupled matrix: ``factor`` has a row per column of the matrix, none for a graph.

    A matrix without a weight predicts rows: ``explained`` is the share of what varies between rows that it predicts, from 0 to 1,
    and ``weight`` is 0.
    """

    name: str
    mode: str
    absent: str
    weight: float
    explained: float | None
    columns: Array
    factor: Array
    _library: str = ""

    def __repr__(self) -> str:
        worth = f"weight {self.weight:.3g}" if self.explained is None else f"explains {self.explained:.0%} of rows"
        return f"CoupledFactor({self.name!r}, {self.absent}, {worth}: {self.factor.shape})"

    def frame(self) -> Any:
        """The factor as a table, with the columns of the matrix in its first column."""
        return _frame(self.name.rpartition("/")[2], self.columns, self.factor, self._library)


def _frame(heading: str, names: Array, values: Array, library: str) -> Any:
    columns = {str(concept + 1): values[:, concept] for concept in range(values.shape[1])}
    return frame({heading: names, **columns}, library)
