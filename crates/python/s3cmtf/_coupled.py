"""Matrices that share a mode with the tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _s3cmtf
from ._checks import number, text
from ._columns import CodedColumn, Column, SeriesColumn, is_instance
from ._parts import heading
from ._tables import given


class Coupled:
    """Side information about the entities of a mode: genres of movies, friends of users, a table of attributes.

    Parameters
    ----------
    mode : the mode, by name.
    data : a table with a row per entity or per cell (pandas, polars, pyarrow, a dict of arrays, a path or pattern), or a matrix
        of ``scipy.sparse``. Of a table with a row per entity, each column becomes a matrix of its own, by its type: categories,
        lists, numbers, dates. The index of a frame of pandas has the entities if it has a name, as after ``set_index("user")``,
        or no numbers; such a frame whose columns are all numbers, as of ``get_dummies``, is one matrix if ``absent`` or
        ``name`` is given. An empty cell is unknown.
    absent : the meaning of an absent cell: ``"missing"`` (unknown; the default where cells have values), ``"zeros"`` (the
        default where they have none), or ``"graph"``, whose rows and columns are the same entities.
    columns : the columns of a table that are the matrix, where they cannot be inferred: ``[row, column]`` or
        ``[row, column, value]``. A column may be binned, ``"year:bins=10"``, or numeric, ``"age:number"``.
    split : what separates several columns in one field, such as ``"|"`` in ``"Comedy|Drama"``.
    weight : factorizes the matrix jointly with the tensor, with this weight on its squared errors. If it is None, the matrix
        is side information: features in the prior of the rows, whose strength is inferred.
    name : what the matrix is called behind its mode, ``"genre"`` in ``"movie/genre"``.
    index, labels : the names of the rows and columns of a ``scipy.sparse`` matrix; without them they are numbers from 0.

    Examples
    --------
    >>> import s3cmtf
    >>> s3cmtf.Coupled("movie", {"movie": ["Alien", "Heat"], "genre": ["Horror", "Crime"]}, absent="zeros")
    Coupled('movie', absent='zeros')
    """

    def __init__(
        self,
        mode: str | int,
        data: Any,
        *,
        absent: str | None = None,
        columns: Sequence[str | int] | None = None,
        split: str | None = None,
        weight: float | None = None,
        name: str | None = None,
        index: Sequence[Any] | None = None,
        labels: Sequence[Any] | None = None,
    ) -> None:
        self.mode = mode
        self.data = data
        self.absent = absent
        self.columns = columns
        self.split = split
        self.weight = weight
        self.name = name
        self.index = index
        self.labels = labels

    def __repr__(self) -> str:
        return f"Coupled({self.mode!r}, absent={self.absent!r})"

    def native(self, modes: Sequence[str]) -> _s3cmtf.Couple:
        """What the library is asked for, where ``modes`` are the columns of modes that go by numbers."""
        sparse = self._sparse()
        table, columns = self._table() if sparse is None else (sparse, [str(column) for column in self.columns or []])
        split, name = text("split", self.split, "|"), text("name", self.name, "genre")
        absent = text("absent", self.absent, "zeros")
        mode = heading(self.mode) if heading(self.mode) in modes else str(self.mode)
        return _s3cmtf.Couple(mode, table, columns, split, absent, number("weight", self.weight), name)

    def _table(self) -> tuple[_s3cmtf.Table, list[str]]:
        """A table, and the headings of the columns that were named."""
        if isinstance(self.data, np.ndarray):
            raise TypeError("an array may be a matrix or a list of cells: give a table, or a matrix of scipy.sparse")
        if self._is_wide():
            return self._wide(), []
        if self.index is not None or self.labels is not None:
            raise ValueError("index and labels are for matrices of scipy.sparse: a table has names of its own")
        table = given(self.data.reset_index() if self._has_names() else self.data, f"couple {self.mode}")[0]
        said = [self.columns] if isinstance(self.columns, str) else self.columns or []
        return table.table, [table.spec(column) for column in said]

    def _has_names(self) -> bool:
        """Whether it is a frame of pandas whose index has the entities, and no column."""
        if not is_instance(self.data, "pandas", "DataFrame") or self.mode in self.data.columns:
            return False
        return self.mode in self.data.index.names or self._is_indexed()

    def _is_indexed(self) -> bool:
        """Whether the index of a frame names entities: numbers without a name are those of rows."""
        index = self.data.index
        return index.nlevels == 1 and (index.name is not None or index.dtype.kind not in "iu")

    def _is_wide(self) -> bool:
        """Whether it is a frame of pandas with a row per entity, which its index names, and a column per column."""
        if not is_instance(self.data, "pandas", "DataFrame") or self.columns is not None or self.split is not None:
            return False
        # Without a word about it, each column is what it is.
        if self.mode in self.data.columns or (self.absent is None and self.name is None):
            return False
        return self._is_indexed() and all(getattr(dtype, "kind", "O") in "biuf" for dtype in self.data.dtypes)

    def _wide(self) -> _s3cmtf.Table:
        frame = self.data
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
        # What is no number is not there; a zero is not there where that means the same.
        row, column = np.nonzero(np.isfinite(values) if self.absent in (None, "missing") else np.nan_to_num(values))
        cells = values[row, column]
        rows = SeriesColumn(frame.index.to_series().iloc[row])
        return self._cells(rows, CodedColumn(column, frame.columns.tolist()), cells)

    def _sparse(self) -> _s3cmtf.Table | None:
        if not is_instance(self.data, "scipy.sparse", "spmatrix", "sparray"):
            return None
        cells = self.data.tocoo()
        for what, names, size in zip(("index", "labels"), (self.index, self.labels), self.data.shape, strict=True):
            if names is not None and len(names) != size:
                raise ValueError(f"couple {self.mode}: {what} has {len(names)} names, but the shape is {self.data.shape}")
        row = Column(cells.row) if self.index is None else CodedColumn(cells.row, self.index)
        column = Column(cells.col) if self.labels is None else CodedColumn(cells.col, self.labels)
        return self._cells(row, column, np.asarray(cells.data, dtype=np.float64))

    def _cells(self, row: Column, column: Column, values: Any) -> _s3cmtf.Table:
        columns: list[tuple[str, Column]] = [("row", row), ("column", column), ("value", Column(values))]
        return _s3cmtf.Table.columns(f"couple {self.mode}", len(values), columns)


def natives(couple: Coupled | Sequence[Coupled] | None, modes: Sequence[str] = ()) -> list[_s3cmtf.Couple]:
    """What the library is asked for by all of them; ``modes`` are those that may go by numbers."""
    matrices = [couple] if isinstance(couple, Coupled) else list(couple or [])
    for matrix in matrices:
        if not isinstance(matrix, Coupled):
            raise TypeError(f"couple should be a list of s3cmtf.Coupled, but has a {type(matrix).__name__}")
    return [matrix.native(modes) for matrix in matrices]
