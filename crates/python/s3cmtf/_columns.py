"""Columns of what people have, which become plain numbers when the library asks for them."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MISSING = np.uint32(0xFFFFFFFF)
"""The code of a value that is not there."""

Fetched = tuple[str, "np.ndarray[Any, Any]", "list[str] | None"]


@dataclass(frozen=True)
class Kind:
    """What the values of a column are: ``of`` is int, bool, number, time or text; and whether they are categories."""

    of: str
    is_category: bool = False


class Column:
    """A column of an array or of a pandas frame, which is turned into plain numbers when it is asked for."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def fetch(self, most: int | None) -> Fetched:
        """The first values, at most so many: their kind, an array, and labels where the array has codes."""
        values = self.values if most is None else self.values[:most]
        return _of_array(np.asarray(values))

    @property
    def kind(self) -> Kind:
        """What its values are, so that they come back as such."""
        array = np.asarray(self.values)
        return _kind_of_objects(array) if array.dtype.kind == "O" else Kind(_OF_KIND.get(array.dtype.kind, "text"))


class SeriesColumn(Column):
    """A column of a pandas frame."""

    def fetch(self, most: int | None) -> Fetched:
        series = self.values if most is None else self.values.iloc[:most]
        return _of_series(series)

    @property
    def kind(self) -> Kind:
        dtype = self.values.dtype
        if str(dtype) == "category":
            categories = self.values.cat.categories
            return Kind(SeriesColumn(categories.to_series()).kind.of, is_category=True)
        if str(dtype).startswith("period"):
            return Kind("time")
        kind = getattr(dtype, "kind", "O")
        return Kind(_OF_KIND[kind]) if kind in _OF_KIND else _kind_of_objects(self.values)


class CodedColumn(Column):
    """Codes among labels."""

    def __init__(self, codes: Any, labels: Sequence[Any]) -> None:
        super().__init__(codes)
        self.labels = labels

    def fetch(self, most: int | None) -> Fetched:
        return _coded(np.asarray(self.values)[:most], self.labels)

    @property
    def kind(self) -> Kind:
        return Kind("text")


_OF_KIND = {"i": "int", "u": "int", "b": "bool", "f": "number", "M": "time"}


def _kind_of_objects(values: Iterable[Any]) -> Kind:
    """That of the first value that is there; others may be of another, which is found out when names are made."""
    first = next((value for value in values if not _is_missing(value)), None)
    if isinstance(first, (bool, np.bool_)):
        return Kind("bool")
    if isinstance(first, datetime.date):
        return Kind("time")
    if isinstance(first, (float, np.floating)):
        return Kind("number")
    return Kind("int" if isinstance(first, (int, np.integer)) else "text")


def _of_array(array: np.ndarray[Any, Any]) -> Fetched:
    kind = array.dtype.kind
    if array.ndim != 1:
        raise ValueError(f"a column has one dimension, but this has {array.ndim}")
    if kind in "bi" or (kind == "u" and array.dtype.itemsize < 8):
        return "signed", np.ascontiguousarray(array, dtype=np.int64), None
    if kind == "u":
        return "unsigned", np.ascontiguousarray(array, dtype=np.uint64), None
    if kind == "f":
        return "numbers", np.ascontiguousarray(array, dtype=np.float64), None
    if kind == "M":
        return "times", np.ascontiguousarray(array.astype("datetime64[s]").view(np.int64)), None
    if kind in "US":
        labels, codes = np.unique(array, return_inverse=True)
        names = labels.tolist() if kind == "U" else [name.decode() for name in labels.tolist()]
        return _coded(codes.reshape(-1), names)
    if kind == "O":
        return _of_objects(array.tolist())
    if kind == "c":
        raise ValueError("Complex data not supported: a column has real numbers, texts or times")
    raise ValueError(f"a column of {array.dtype} has neither ids, numbers nor times")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or str(value) in ("NaT", "<NA>")


def _local(time: Any) -> Any:
    """A time as the clock shows it where it was taken: its hour, day and month are those of there."""
    return time.replace(tzinfo=None) if getattr(time, "tzinfo", None) is not None else time


def _of_objects(values: list[Any]) -> Fetched:
    first = next((value for value in values if not _is_missing(value)), None)
    if isinstance(first, datetime.date):
        times = [None if _is_missing(value) else _local(value) for value in values]
        return _of_array(np.array(times, dtype="datetime64[s]"))
    if isinstance(first, (dict, list, set)):
        raise TypeError(f"argument must be a string or a number: {type(first).__name__} is no id, number or time")
    known: dict[str, int] = {}
    codes = [MISSING if _is_missing(value) else known.setdefault(_name(value), len(known)) for value in values]
    return "texts", np.array(codes, dtype=np.uint32), list(known)


def _name(value: Any) -> str:
    """What a value is called: as in a column of such alone, so that 1, 1.0 and true are the same in all of them."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (float, np.floating)) and float(value).is_integer()):
        return str(int(value))
    return str(value)


def _coded(codes: np.ndarray[Any, Any], labels: Iterable[Any]) -> Fetched:
    names = [_name(label) for label in labels]
    whole = np.ascontiguousarray(codes.astype(np.uint32))
    if len(set(names)) == len(names):
        return "texts", whole, names
    # Two labels that read the same, such as 1 and "1", are one.
    known: dict[str, int] = {}
    moved = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.uint32)
    there = whole < len(names)
    again = np.where(there, moved[np.where(there, whole, 0)], MISSING)
    return "texts", np.ascontiguousarray(again, dtype=np.uint32), list(known)


def _of_series(series: Any) -> Fetched:
    dtype = series.dtype
    if str(dtype) == "category":
        return _coded(series.cat.codes.to_numpy().astype(np.int64), series.cat.categories.tolist())
    if str(dtype).startswith("period"):
        series = series.dt.to_timestamp()
        dtype = series.dtype
    kind = getattr(dtype, "kind", "O")
    if kind == "M":
        if series.dt.tz is not None:
            import pandas

            # The clock of the data's own zone says which hour, day and month it is. Of times of Arrow some versions of
            # pandas would give those of Greenwich.
            series = series.astype(pandas.DatetimeTZDtype("us", series.dt.tz)).dt.tz_localize(None)
        return _of_array(series.to_numpy(dtype="datetime64[s]"))
    if isinstance(dtype, np.dtype) and kind != "O":
        return _of_array(series.to_numpy())
    if kind in "biuf":
        # A type of its own, in which values may be missing: those are no numbers.
        return _of_array(
            series.to_numpy(dtype=np.float64, na_value=np.nan)
            if series.hasnans
            else series.to_numpy(dtype=dtype.numpy_dtype)
        )
    first = next((value for value in series if not _is_missing(value)), None)
    if isinstance(first, (datetime.date, bool, np.bool_, dict, list, set)):
        return _of_objects(series.tolist())
    import pandas

    codes, labels = pandas.factorize(series)
    return _coded(codes, labels.tolist())


def is_instance(value: Any, module: str, *names: str) -> bool:
    """Whether a value is of a type of a library, without importing it: who has such a value has done so."""
    library = sys.modules.get(module)
    return library is not None and any(isinstance(value, getattr(library, name)) for name in names if hasattr(library, name))
