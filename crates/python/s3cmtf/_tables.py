"""From what people have to tables of the library. Nothing is copied before the library asks for a column."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _s3cmtf
from ._columns import Column, Kind, SeriesColumn, is_instance
from ._errors import UnknownName
from ._parts import heading


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
    """A table, its headings, and what its columns hold; headings are None where only its files know them.

    ``labels`` has the headings of columns whose labels are numbers, by these.
    """

    def __init__(
        self,
        table: _s3cmtf.Table,
        kinds: dict[str, Kind] | None,
        library: str,
        name: str = "X",
        labels: Mapping[Any, str] | None = None,
    ) -> None:
        self.table = table
        self.kinds = kinds
        self.library = library
        self.name = name
        self.labels: dict[Any, str] = dict(labels or {})

    @property
    def order(self) -> int | None:
        return None if self.kinds is None else len(self.kinds)

    def column(self, said: Any) -> str:
        """The heading that is meant. A number is a label; where columns have texts for labels, none is meant by it.

        Arrays and files without headings have neither: the library takes numbers for places there.
        """
        label = self.labels.get(said)
        if label is not None:
            return label
        if isinstance(said, str):
            return self.labels.get(int(said), said) if said.isdecimal() and self.labels else said
        if isinstance(said, (int, np.integer)) and self.kinds is not None and self.library != "numpy":
            shown = [str(label) for label in (self.labels or self.kinds)]
            more = f" and {len(shown) - LISTED} more" if len(shown) > LISTED else ""
            raise UnknownName(f"{self.name}: has no column {said} (its columns are {', '.join(shown[:LISTED])}{more})")
        return str(said)

    def spec(self, said: Any) -> str:
        """What is meant by ``column`` or ``column:bins``."""
        if not isinstance(said, str):
            return self.column(said)
        column, colon, bins = said.partition(":")
        return f"{self.column(column)}{colon}{bins}"

    def mode(self, said: Any) -> str:
        """What is meant by ``column``, ``column:bins`` or ``name=column``."""
        if not isinstance(said, str):
            return self.column(said)
        rest, colon, bins = said.partition(":")
        name, equals, column = rest.rpartition("=")
        return f"{name}{equals}{self.column(column)}{colon}{bins}"


LISTED = 30
"""The columns that a message lists at most."""


def surprises(
    problem: _s3cmtf.Problem, kinds: dict[str, Kind] | None, modes: Sequence[str] | None, value: str | None
) -> list[str]:
    """What may not be meant, of what was said about a table: that rows are counted, and that every second is a time."""
    if kinds is None or modes is None:
        return []
    found = []
    columns = [mode.rpartition("=")[2] if ":" not in mode else "" for mode in modes]
    for column, name, rows in zip(columns, problem.modes(), problem.rows(), strict=True):
        if column in kinds and kinds[column].of == "time" and 2 * rows > len(problem) > 1:
            found.append(f'mode {name} has {rows} times for {len(problem)} entries: "{column}:month" puts them together')
    said = {mode.partition(":")[0].rpartition("=")[2] for mode in modes}
    left = [column for column, kind in kinds.items() if kind.of in ("int", "number") and column not in said]
    if value is None and left:
        found.append(f"rows are counted: value says which column has the values, such as {left[0]}")
    return found


def sparse_cells(data: Any) -> tuple[Any, Any]:
    """The coordinates and values of a matrix of ``scipy.sparse`` whose absent cells are zeros; anything else as it is."""
    if not is_instance(data, "scipy.sparse", "spmatrix", "sparray"):
        return data, None
    cells = data.tocoo()
    there = cells.data != 0
    return np.column_stack([cells.row[there], cells.col[there]]), cells.data[there]


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
            'np.column_stack([cells.row, cells.col]) and cells.data, or absent="zeros" if what is absent is a zero; one that is to be '
            "coupled goes to Coupled"
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
        columns = [SeriesColumn(data.iloc[:, place]) for place in range(data.shape[1])]
        return _of_labelled(name, list(data.columns), columns, y, "pandas", headings)
    if isinstance(data, dict):
        if data and all(isinstance(values, str) or not hasattr(values, "__len__") for values in data.values()):
            # One cell, as people write it.
            data = {key: [value] for key, value in data.items()}
        return _of_labelled(name, list(data), [_column(values) for values in data.values()], y, "dict", headings)
    if hasattr(data, "__arrow_c_stream__"):
        return _of_arrow(name, data, y)
    array = _matrix(data)
    return _of_columns(name, _named([array[:, place] for place in range(array.shape[1])], headings), y, "numpy")


def _of_labelled(
    name: str, labels: list[Any], columns: Sequence[Column], y: Any, library: str, headings: Sequence[str] | None
) -> tuple[Given, str | None]:
    """Columns with labels of any kind. Those that are numbers get headings that nobody takes for places."""
    numbers = {label for label in labels if isinstance(label, (int, np.integer)) and not isinstance(label, bool)}
    names = [heading(label) if label in numbers else str(label) for label in labels]
    if numbers and headings is not None and len(headings) == len(names) and not set(headings) <= set(names):
        # The model is one of an array or of a file without headings.
        names, numbers = list(headings), set()
    found, value = _of_columns(name, list(zip(names, columns, strict=True)), y, library)
    found.labels = {label: own for label, own in zip(labels, names, strict=True) if label in numbers}
    return found, value


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
    return Given(_s3cmtf.Table.columns(name, rows, columns), kinds, library, name), heading


def _of_arrow(name: str, data: Any, y: Any) -> tuple[Given, str | None]:
    heading, library = None, "polars" if is_instance(data, "polars", "DataFrame") else "pyarrow"
    data = _local(data, library)
    if y is not None and library == "polars":
        import polars

        heading = _heading(y, data.columns)
        data = data.with_columns(polars.Series(heading, np.asarray(y)))
    elif y is not None:
        import pyarrow

        heading = _heading(y, data.column_names)
        data = data.append_column(heading, pyarrow.array(np.asarray(y)))
    return Given(_s3cmtf.Table.arrow(name, data), _arrow_kinds(data), library, name), heading


def _local(data: Any, library: str) -> Any:
    """The same with times as the clock shows them in the data's own zone, which says which hour, day and month it is."""
    if library == "polars":
        zoned = [name for name, of in data.schema.items() if getattr(of, "time_zone", None) is not None]
        if zoned:
            import polars

            data = data.with_columns(polars.col(*zoned).dt.replace_time_zone(None))
    elif is_instance(data, "pyarrow", "Table", "RecordBatch"):
        for place, field in enumerate(data.schema):
            if getattr(field.type, "tz", None) is not None:
                import pyarrow.compute

                data = data.set_column(place, field.name, pyarrow.compute.local_timestamp(data.column(place)))
    return data


def _arrow_kinds(data: Any) -> dict[str, Kind] | None:
    fields = getattr(data, "schema", None)
    if fields is None:
        return None
    named = fields.items() if hasattr(fields, "items") else [(field.name, field.type) for field in fields]
    return {str(name): _arrow_kind(str(of).lower()) for name, of in named}


def _arrow_kind(name: str) -> Kind:
    if name.startswith("dictionary"):
        return Kind(_arrow_kind(name.partition("values=")[2]).of, is_category=True)
    if name.startswith(("categorical", "enum")):
        return Kind("text", is_category=True)
    kinds = {"int": "int", "uint": "int", "bool": "bool", "float": "number", "double": "number"}
    kinds |= {"halffloat": "number", "timestamp": "time", "date": "time"}
    return Kind(next((of for start, of in kinds.items() if name.startswith(start)), "text"))
