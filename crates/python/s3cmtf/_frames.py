"""Tables that come out: of the library that the data came from, else of one that is installed, else of plain arrays."""

from __future__ import annotations

import datetime
import importlib.util
from typing import Any, TypeAlias

import numpy as np

Table: TypeAlias = Any
"""A ``pandas.DataFrame`` or ``polars.DataFrame``, or a dict of arrays where neither is installed: which one, the data decide."""


def frame(columns: dict[str, Any], library: str = "") -> Table:
    """A table of these columns: pandas or polars, or a dict of arrays where neither is installed."""
    chosen = library if library in ("pandas", "polars") else _installed()
    if chosen == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if chosen == "polars":
        import polars

        return polars.DataFrame(
            {name: array.tolist() if array.dtype.kind == "O" else array for name, array in arrays.items()}
        )
    return arrays


def _installed() -> str:
    return next((name for name in ("pandas", "polars") if importlib.util.find_spec(name) is not None), "")


def named(names: list[str], kind: str | None) -> np.ndarray[Any, Any]:
    """Names as they were in the data: numbers where they were that, or where nobody knows and all of them are."""
    if kind == "time":
        times = [name.removesuffix("Z") for name in names]
        return np.array(times, dtype="datetime64[s]")
    if kind == "bool":
        return np.array([name.lower() in ("1", "true") for name in names])
    if kind == "number":
        return np.array([float(name) for name in names])
    numbers = _whole(names) if kind in (None, "int") else None
    return np.array(names, dtype=object) if numbers is None else numbers


def _whole(names: list[str]) -> np.ndarray[Any, Any] | None:
    """Whole numbers of these names, if they are names of such."""
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return None
    if [str(number) for number in numbers] != names:
        return None
    try:
        return np.array(numbers, dtype=np.int64)
    except OverflowError:
        return np.array(numbers, dtype=np.uint64) if min(numbers) >= 0 else None


def label(entity: Any, kind: str | None, is_binned: bool = False) -> str:
    """What an entity is called that somebody means: the other way round."""
    if isinstance(entity, str) or kind == "text":
        return str(entity)
    if isinstance(entity, (bool, np.bool_)):
        return str(int(entity))
    if isinstance(entity, (float, np.floating)) and float(entity).is_integer():
        # Where some ids are missing, pandas has made numbers with a point of all of them.
        return str(int(entity))
    if isinstance(entity, datetime.datetime):
        # The clock of its zone says which day and month it is, as in data.
        entity = entity.replace(tzinfo=None)
    if isinstance(entity, (datetime.date, np.datetime64)):
        text = str(np.array(entity, dtype="datetime64[s]"))
        return text if is_binned or kind != "time" else f"{text}Z"
    return str(entity)
