"""Tables that come out: of the library that the data came from, else of one that is installed, else of plain arrays."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np


def frame(columns: dict[str, Any], library: str = "") -> Any:
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
    if kind in (None, "int", "category", "number"):
        try:
            numbers = np.array([int(name) for name in names], dtype=np.int64)
        except (ValueError, OverflowError):
            numbers = None
        if numbers is not None and [str(number) for number in numbers.tolist()] == names:
            return numbers
    if kind == "number":
        return np.array([float(name) for name in names])
    return np.array(names, dtype=object)
