"""From what people have to tables of the library. Nothing is copied before the library asks for a column."""

from __future__ import annotations

import datetime
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import _s3cmtf

MISSING = np.uint32(0xFFFFFFFF)
"""The code of a value that is not there."""

Fetched = tuple[str, "np.ndarray[Any, Any]", "list[str] | None"]


class Column:
    """A column of an array or of a pandas frame, which is turned into plain numbers when it is asked for."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def fetch(self, most: int | None) -> Fetched:
        """The first values, at most so many: their kind, an array, and labels where the array has codes."""
        values = self.values if most is None else self.values[:most]
        return _of_array(np.asarray(values))

    @property
    def kind(self) -> str:
        """What the names of its values are: int, text, category, time or number."""
        return _kind_of_dtype(np.asarray(self.values[:1]).dtype)


class SeriesColumn(Column):
    """A column of a pandas frame."""

    def fetch(self, most: int | None) -> Fetched:
        series = self.values if most is None else self.values.iloc[:most]
        return _of_series(series)

    @property
    def kind(self) -> str:
        return _kind_of_dtype(self.values.dtype)


class CodedColumn(Column):
    """Codes among labels."""

    def __init__(self, codes: Any, labels: Sequence[Any]) -> None:
        super().__init__(codes)
        self.labels = labels

    def fetch(self, most: int | None) -> Fetched:
        return _coded(np.asarray(self.values)[:most], self.labels)

    @property
    def kind(self) -> str:
        return "text"


def _kind_of_dtype(dtype: Any) -> str:
    name = str(dtype)
    if name == "category":
        return "category"
    numpy_kind = getattr(dtype, "kind", "O")
    return {"i": "int", "u": "int", "b": "int", "f": "number", "M": "time"}.get(numpy_kind, "text")


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


def _of_objects(values: list[Any]) -> Fetched:
    first = next((value for value in values if not _is_missing(value)), None)
    if isinstance(first, datetime.date):
        times = [None if _is_missing(value) else value for value in values]
        return _of_array(np.array(times, dtype="datetime64[s]"))
    if isinstance(first, (dict, list, set)):
        raise TypeError(f"argument must be a string or a number: {type(first).__name__} is no id, number or time")
    known: dict[str, int] = {}
    codes = [MISSING if _is_missing(value) else known.setdefault(str(value), len(known)) for value in values]
    return "texts", np.array(codes, dtype=np.uint32), list(known)


def _coded(codes: np.ndarray[Any, Any], labels: Iterable[Any]) -> Fetched:
    names = [str(label) for label in labels]
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
        if getattr(dtype, "tz", None) is not None or "UTC" in str(dtype):
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
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
    first = series.iloc[0] if len(series) else None
    if isinstance(first, (datetime.date, dict, list, set)):
        return _of_objects(series.tolist())
    import pandas

    codes, labels = pandas.factorize(series)
    return _coded(codes, labels.tolist())


def is_instance(value: Any, module: str, *names: str) -> bool:
    """Whether a value is of a type of a library, without importing it: who has such a value has done so."""
    library = sys.modules.get(module)
    return library is not None and any(isinstance(value, getattr(library, name)) for name in names if hasattr(library, name))


class Files:
    """Files that are one table, with words about them; where none are needed, paths alone do as well.

    >>> import pathlib, s3cmtf, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "export.txt")
    >>> _ = path.write_text("1;7;4.5\\n2;7;3\\n2;8;1\\n")
    >>> s3cmtf.S3CMTF(rank=2, epochs=2).fit(s3cmtf.Files(path, header=False), modes=["u=1", "i=2"], value="3").n_iter_
    2

    Parameters
    ----------
    paths : a path, a pattern such as ``"part-*.csv"``, or several.
    format : csv, tns, parquet, arrow, npz or mtx; None finds it out.
    header : whether the first line holds headings; None finds it out.
    """

    def __init__(self, *paths: str | os.PathLike[str], format: str | None = None, header: bool | None = None) -> None:
        self.paths = [os.fspath(path) for path in paths]
        self.format = format
        self.header = header

    def __repr__(self) -> str:
        return f"Files({', '.join(map(repr, self.paths))}, format={self.format!r}, header={self.header!r})"


def is_files(data: Any) -> bool:
    """Whether data are files: a path, a pattern, or a list of them."""
    if isinstance(data, (str, os.PathLike, Files)):
        return True
    return isinstance(data, (list, tuple)) and bool(data) and all(isinstance(one, (str, os.PathLike)) for one in data)


class Given:
    """A table, its headings, and what its columns hold; headings are None where only its files know them."""

    def __init__(self, table: _s3cmtf.Table, kinds: dict[str, str] | None, library: str) -> None:
        self.table = table
        self.kinds = kinds
        self.library = library

    @property
    def order(self) -> int | None:
        return None if self.kinds is None else len(self.kinds)


def surprises(
    problem: _s3cmtf.Problem, kinds: dict[str, str] | None, modes: Sequence[str] | None, value: str | None
) -> list[str]:
    """What may not be meant, of what was said about a table: that rows are counted, and that every second is a time."""
    if kinds is None or modes is None:
        return []
    found = []
    columns = [str(mode).rpartition("=")[2] if ":" not in str(mode) else None for mode in modes]
    for column, name, rows in zip(columns, problem.modes(), problem.rows(), strict=True):
        if kinds.get(column or "") == "time" and 2 * rows > len(problem) > 1:
            found.append(f'mode {name} has {rows} times for {len(problem)} entries: "{column}:month" puts them together')
    said = {str(mode).rpartition("=")[2].partition(":")[0] for mode in modes}
    left = [column for column, kind in kinds.items() if kind in ("int", "number") and column not in said]
    if value is None and left:
        found.append(f"rows are counted: value says which column has the values, such as {left[0]}")
    return found


def given(data: Any, name: str, y: Any = None, headings: Sequence[str] | None = None) -> tuple[Given, str | None]:
    """A table of what people have, and the heading of `y`, which becomes its last column.

    `headings` are for arrays, which have none.
    """
    if is_files(data):
        if y is not None:
            raise ValueError("y is for tables in memory: the values of a file are one of its columns")
        if not isinstance(data, Files):
            data = Files(*([data] if isinstance(data, (str, os.PathLike)) else data))
        return Given(_s3cmtf.Table.files(data.paths, data.format, data.header), None, "files"), None
    if is_instance(data, "scipy.sparse", "spmatrix", "sparray"):
        raise TypeError(
            "Sparse data are not coordinates: of a matrix of scipy.sparse, cells = X.tocoo(), give "
            "np.column_stack([cells.row, cells.col]) and cells.data; one that is to be coupled goes to Coupled"
        )
    if is_instance(data, "polars", "LazyFrame"):
        data = data.collect()
    if is_instance(data, "pandas", "Series"):
        return _of_pandas_series(name, data, y)
    if is_instance(data, "sparse", "COO"):
        if y is None:
            y = data.data
        return _of_columns(name, _named(list(data.coords), headings), y, "numpy")
    if is_instance(data, "pandas", "DataFrame"):
        labels = [
            str(place + 1) if isinstance(label, (int, np.integer)) else str(label)
            for place, label in enumerate(data.columns)
        ]
        columns: list[tuple[str, Column]] = [
            (label, SeriesColumn(data.iloc[:, place])) for place, label in enumerate(labels)
        ]
        return _of_columns(name, columns, y, "pandas")
    if isinstance(data, dict):
        if data and all(isinstance(values, str) or not hasattr(values, "__len__") for values in data.values()):
            # One cell, as people write it.
            data = {key: [value] for key, value in data.items()}
        return _of_columns(name, [(str(key), _column(values)) for key, values in data.items()], y, "dict")
    if hasattr(data, "__arrow_c_stream__"):
        return _of_arrow(name, data, y)
    array = _matrix(data)
    return _of_columns(name, _named([array[:, place] for place in range(array.shape[1])], headings), y, "numpy")


def _of_pandas_series(name: str, data: Any, y: Any) -> tuple[Given, str | None]:
    """Values whose cells are their index, as groups and their means are."""
    if y is not None or data.index.nlevels < 2:
        raise ValueError(
            f"{name}: a series is taken for values with the modes in its index, but its index has {data.index.nlevels} level: "
            "give a table with a row per cell; one row of a frame is frame.iloc[[0]]"
        )
    return given(data.index.to_frame(index=False), name, data.reset_index(drop=True))


def _matrix(data: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(data)
    if array.ndim != 2:
        raise ValueError(f"Reshape your data: a table has rows and columns, but this array has {array.ndim} dimension(s)")
    if array.shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    return array


def _named(columns: list[Any], headings: Sequence[str] | None) -> list[tuple[str, Column]]:
    names = (
        headings
        if headings is not None and len(headings) == len(columns)
        else [str(place + 1) for place in range(len(columns))]
    )
    return [(name, Column(column)) for name, column in zip(names, columns, strict=True)]


def _column(values: Any) -> Column:
    return SeriesColumn(values) if is_instance(values, "pandas", "Series") else Column(np.asarray(values))


def _heading(y: Any, taken: Iterable[str]) -> str:
    """What the values are called: as their series, unless that is a number or another column."""
    label = getattr(y, "name", None)
    name = label if isinstance(label, str) and label not in taken else "value"
    while name in taken:
        name += "_"
    return name


def _flat(y: Any) -> Column:
    if is_instance(y, "pandas", "Series"):
        return SeriesColumn(y)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected", _conversion(), stacklevel=5)
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"y has one number per row, but its shape is {array.shape}")
    return Column(array)


def _conversion() -> type[Warning]:
    """scikit-learn's warning, for those who have imported it."""
    exceptions = sys.modules.get("sklearn.exceptions")
    return UserWarning if exceptions is None else exceptions.DataConversionWarning


def _of_columns(name: str, columns: list[tuple[str, Column]], y: Any, library: str) -> tuple[Given, str | None]:
    rows = len(columns[0][1].values) if columns else 0
    heading = None
    if y is not None:
        heading = _heading(y, [label for label, _ in columns])
        columns = [*columns, (heading, _flat(y))]
    kinds = {label: column.kind for label, column in columns}
    for label, column in columns:
        if len(column.values) != rows:
            raise ValueError(f"{name}: column {label!r} has {len(column.values)} values, but there are {rows} rows")
    return Given(_s3cmtf.Table.columns(name, rows, columns), kinds, library), heading


def _of_arrow(name: str, data: Any, y: Any) -> tuple[Given, str | None]:
    heading, library = None, "polars" if is_instance(data, "polars", "DataFrame") else "pyarrow"
    if y is not None and library == "polars":
        import polars

        heading = _heading(y, data.columns)
        data = data.with_columns(polars.Series(heading, np.asarray(y)))
    elif y is not None:
        import pyarrow

        heading = _heading(y, data.column_names)
        data = data.append_column(heading, pyarrow.array(np.asarray(y)))
    return Given(_s3cmtf.Table.arrow(name, data), _arrow_kinds(data), library), heading


def _arrow_kinds(data: Any) -> dict[str, str] | None:
    fields = getattr(data, "schema", None)
    if fields is None:
        return None
    named = fields.items() if hasattr(fields, "items") else [(field.name, field.type) for field in fields]
    return {str(name): _arrow_kind(str(of).lower()) for name, of in named}


def _arrow_kind(name: str) -> str:
    if name.startswith(("dictionary", "categorical", "enum")):
        return "category"
    if name.startswith(("int", "uint", "bool")):
        return "int"
    return "time" if name.startswith(("timestamp", "date")) else "text"
