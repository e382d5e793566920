"""Matrices that share a mode with the tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _s3cmtf
from ._tables import CodedColumn, Column, given, is_instance


class Coupled:
    """A matrix whose rows are the entities of a mode: genres of movies, friends of users.

    Parameters
    ----------
    mode : the mode, by name.
    data : a table with a row per cell (pandas, polars, pyarrow, a dict of arrays, a path or pattern), a matrix of
        ``scipy.sparse``, or a frame of pandas whose index has names and whose columns are numbers, as of ``get_dummies``.
    absent : what a cell means that is not there: ``"missing"`` (unknown), ``"zeros"``, or ``"graph"``, whose rows and
        columns are the same entities.
    columns : the columns of a table that are the matrix, where they are not obvious: ``[row, column]`` or
        ``[row, column, value]``. A column may be put into bins: ``"year:bins=10"``.
    split : what separates several columns in one field, such as ``"|"`` in ``"Comedy|Drama"``.
    weight : explains the matrix together with the tensor, a squared error counting so much against 1. If it is None, the matrix
        predicts rows, as far as that helps to predict the tensor.
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
        mode: str,
        data: Any,
        *,
        absent: str = "missing",
        columns: Sequence[str] | None = None,
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

    def native(self) -> _s3cmtf.Couple:
        """What the library is asked for."""
        table = self._sparse() if is_instance(self.data, "scipy.sparse", "spmatrix", "sparray") else self._table()
        columns = [str(column) for column in self.columns or []]
        return _s3cmtf.Couple(str(self.mode), table, columns, self.split, self.absent, self.weight, self.name)

    def _table(self) -> _s3cmtf.Table:
        if isinstance(self.data, np.ndarray):
            raise TypeError("an array may be a matrix or a list of cells: give a table, or a matrix of scipy.sparse")
        if self._is_wide():
            return self._wide()
        if self.index is not None or self.labels is not None:
            raise ValueError("index and labels are for matrices of scipy.sparse: a table has names of its own")
        return given(self.data, f"couple {self.mode}")[0].table

    def _is_wide(self) -> bool:
        """Whether it is a frame of pandas with a row per entity, which its index names, and a column per column."""
        if not is_instance(self.data, "pandas", "DataFrame") or self.columns is not None or self.split is not None:
            return False
        named = self.data.index.nlevels == 1 and self.data.index.dtype.kind not in "iufM"
        return named and all(getattr(dtype, "kind", "O") in "biuf" for dtype in self.data.dtypes)

    def _wide(self) -> _s3cmtf.Table:
        frame = self.data
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
        # What is no number is not there; a zero is not there where that means the same.
        row, column = np.nonzero(np.isfinite(values) if self.absent == "missing" else np.nan_to_num(values))
        cells = values[row, column]
        return self._cells(row, column, cells, frame.index.tolist(), frame.columns.tolist())

    def _sparse(self) -> _s3cmtf.Table:
        cells = self.data.tocoo()
        for what, names, size in zip(("index", "labels"), (self.index, self.labels), self.data.shape, strict=True):
            if names is not None and len(names) != size:
                raise ValueError(f"couple {self.mode}: {what} has {len(names)} names, but the shape is {self.data.shape}")
        return self._cells(cells.row, cells.col, np.asarray(cells.data, dtype=np.float64), self.index, self.labels)

    def _cells(
        self, row: Any, column: Any, values: Any, index: Sequence[Any] | None, labels: Sequence[Any] | None
    ) -> _s3cmtf.Table:
        columns: list[tuple[str, Column]] = [
            ("row", Column(row) if index is None else CodedColumn(row, index)),
            ("column", Column(column) if labels is None else CodedColumn(column, labels)),
            ("value", Column(values)),
        ]
        return _s3cmtf.Table.columns(f"couple {self.mode}", len(row), columns)


def natives(couple: Coupled | Sequence[Coupled] | None) -> list[_s3cmtf.Couple]:
    """What the library is asked for by all of them."""
    matrices = [couple] if isinstance(couple, Coupled) else list(couple or [])
    for matrix in matrices:
        if not isinstance(matrix, Coupled):
            raise TypeError(f"couple should be a list of s3cmtf.Coupled, but has a {type(matrix).__name__}")
    return [matrix.native() for matrix in matrices]
