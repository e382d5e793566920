"""A functional door for those who have coordinates and values and want a decomposition."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _s3cmtf
from ._errors import Note
from ._parts import Array
from ._results import EpochRecord


@dataclass(frozen=True, repr=False)
class TuckerTensor:
    """A core and a factor per mode: the value of a cell is the core, multiplied along each mode by a row of its factor.

    A CP model, whose core is diagonal, has ``weights`` in place of a ``core``. Rows of indices that occur nowhere are the
    average of the others.
    """

    core: Array | None
    weights: Array | None
    factors: list[Array]
    coupled: list[Array]
    history: list[EpochRecord]

    def __repr__(self) -> str:
        return f"TuckerTensor(shape {self.shape}, {'diagonal' if self.core is None else 'full'} core of {self.ranks})"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(factor.shape[0] for factor in self.factors)

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(factor.shape[1] for factor in self.factors)

    def to_dense(self) -> Array:
        """Every cell: for small tensors.

        >>> import numpy as np, s3cmtf
        >>> cells = np.array([[0, 0], [0, 1], [1, 1], [2, 0]])
        >>> s3cmtf.factorize(cells, [5.0, 3.0, 2.0, 4.0], 2, epochs=5).to_dense().shape
        (3, 2)
        """
        dense = _diagonal(self.weights, len(self.factors)) if self.core is None else self.core
        for mode, factor in enumerate(self.factors):
            dense = np.moveaxis(np.tensordot(factor, dense, axes=(1, mode)), 0, mode)
        return dense

    def values_at(self, coords: Any) -> Array:
        """The values of some cells, given as rows of indices."""
        cells = np.asarray(coords)
        rows = [factor[cells[:, mode]] for mode, factor in enumerate(self.factors)]
        if self.core is None:
            product = np.asarray(self.weights)
            for row in rows:
                product = product * row
            return np.asarray(product.sum(axis=1))
        part = np.tensordot(rows[0], self.core, axes=(1, 0))
        for row in rows[1:]:
            part = np.einsum("ni,ni...->n...", row, part)
        return np.asarray(part)

    def to_tensorly(self) -> Any:
        """TensorLy's ``TuckerTensor`` or ``CPTensor``."""
        import tensorly
        from tensorly.cp_tensor import CPTensor
        from tensorly.tucker_tensor import TuckerTensor as Tucker

        factors = [tensorly.tensor(factor) for factor in self.factors]
        if self.core is None:
            return CPTensor((tensorly.tensor(self.weights), factors))
        return Tucker((tensorly.tensor(self.core), factors))

    def to_pyttb(self) -> Any:
        """pyttb's ``ttensor`` or ``ktensor``."""
        import pyttb

        factors = [np.asfortranarray(factor, dtype=np.float64) for factor in self.factors]
        if self.core is None:
            return pyttb.ktensor(factors, np.asarray(self.weights, dtype=np.float64))
        return pyttb.ttensor(pyttb.tensor(np.asarray(self.core, dtype=np.float64)), factors)


def _diagonal(weights: Array | None, order: int) -> Array:
    values = np.asarray(weights)
    dense = np.zeros((len(values),) * order, dtype=values.dtype)
    dense[(np.arange(len(values)),) * order] = values
    return dense


def factorize(
    coords: Any,
    values: Any = None,
    ranks: int | Sequence[int] | None = None,
    *,
    rank: int | Sequence[int] | None = None,
    mask: Any = None,
    shape: Sequence[int] | None = None,
    couple: Sequence[tuple[Any, ...]] = (),
    core: str = "full",
    **settings: Any,
) -> TuckerTensor:
    """Factorizes a sparse tensor of which some cells are observed; the others are unknown, not zero.

    Parameters
    ----------
    coords : indices counted from 0: an array with a row per cell and a column per mode, or a tuple with an array per mode, as
        of ``np.nonzero``. Or the tensor itself, with its values: a ``sparse.COO``, a matrix of ``scipy.sparse``, an ``sptensor``
        of pyttb, or a dense array, of which cells that are NaN or masked are unknown.
    values : a number per cell; none where the tensor is given itself, whose ranks may then stand here.
    ranks, rank : one rank for all modes, or one for each. In a model of ``bayes`` the first concept of each mode is 1, so that
        offsets are a part of the core; with a diagonal core the first columns are the mean and an offset per mode.
    mask : which cells of a dense array are observed: those where it is not 0.
    shape : the size of each mode; the largest index decides if it is None.
    couple : matrices of ``scipy.sparse`` with the mode, counted from 0, whose entities their rows are: ``(0, matrix)`` or
        ``(0, matrix, "zeros")``, ``"missing"`` or ``"graph"``.
    core : full (Tucker) or diagonal (CP).
    settings : other parameters of :class:`S3CMTF`, such as ``epochs`` and ``seed``.

    Unless ``algorithm`` or ``preset`` is given, or something that ``als`` does not have, alternating least squares see first
    whether the tensor is exactly of these ranks. It is if a model fits it to within a millionth of its values and there are at
    least half as many entries again as the model has free numbers; then that model is the answer. Otherwise it is the one that
    the settings ask for: ``bayes``, or ``sgd`` for a diagonal core whose rank is below the number of modes plus 2. To see that takes
    about as long again as ``bayes`` does; ``algorithm="bayes"`` saves it where data are noisy.

    >>> import numpy as np, s3cmtf
    >>> cells = np.array([[0, 0, 0], [0, 1, 1], [1, 1, 0], [2, 0, 1]])
    >>> s3cmtf.factorize(cells, [5.0, 3.0, 2.0, 4.0], [2, 2, 2], epochs=5).core.shape
    (2, 2, 2)

    A matrix of rank 1, of which two cells in three are known:

    >>> matrix = np.outer(np.arange(1.0, 21.0), np.linspace(-1.0, 1.0, 20))
    >>> cells = np.argwhere(np.add.outer(np.arange(20), np.arange(20)) % 3 != 0)
    >>> found = s3cmtf.factorize(cells, matrix[cells[:, 0], cells[:, 1]], 1).to_dense()
    >>> bool(np.abs(found - matrix).max() < 1e-4)
    True

    The same from the matrix itself:

    >>> matrix[np.add.outer(np.arange(20), np.arange(20)) % 3 == 0] = np.nan
    >>> bool(np.abs(s3cmtf.factorize(matrix, rank=1).to_dense() - found).max() < 1e-4)
    True
    """
    from ._estimator import S3CMTF

    if core not in ("full", "diagonal"):
        raise ValueError(f"core cannot be {core!r}: it should be full or diagonal")
    if rank is not None and ranks is not None:
        raise TypeError("rank and ranks are the same here: give one of them")
    ranks = rank if rank is not None else ranks
    tensor = _tensor(coords, mask, alone=values is None or np.ndim(values) == 0)
    if tensor is not None:
        if ranks is None:
            ranks = values
        elif values is not None:
            raise TypeError("the tensor has values of its own: give its coordinates in place of it, or no values")
        coords, values, own = tensor
        shape = own if shape is None else shape
    if values is None:
        raise TypeError("coords are cells without values: give values, a number per cell")
    cells, values = _coordinates(coords), np.ascontiguousarray(values, dtype=np.float32)
    given = {"rank": ranks} if ranks is None or np.isscalar(ranks) else {"ranks": ranks}
    said = S3CMTF(**given, core_kind=core, **settings)
    indices = [_indices(cells[:, mode]) for mode in range(cells.shape[1])]
    sizes = None if shape is None else [int(size) for size in shape]
    matrices = [_matrix(number, *matrix) for number, matrix in enumerate(couple)]
    problem, notes = _s3cmtf.Problem.of_indices(indices, values, sizes, matrices)
    for note in notes:
        warnings.warn(note, Note, stacklevel=2)
    exact_first = said.algorithm is None and "preset" not in settings
    run, _ = _s3cmtf.train(problem, said._settings(), said._preset(), None, None, None, None, None, False, None, exact_first)
    array = run.core()
    return TuckerTensor(
        core=None if core == "diagonal" else array,
        weights=array if core == "diagonal" else None,
        factors=[_whole(run, mode) for mode in range(len(indices))],
        coupled=[matrix[6] for matrix in run.coupled()],
        history=json.loads(run.record())["history"],
    )


def _tensor(data: Any, mask: Any, alone: bool) -> tuple[Any, Any, tuple[int, ...]] | None:
    """Coordinates, values and shape of a tensor that is given itself, or None if these are coordinates.

    A plain array is a tensor if it comes ``alone`` or with a mask: with values, it has their coordinates.
    """
    if all(hasattr(data, name) for name in ("subs", "vals", "shape")):
        subs = np.asarray(data.subs)
        # Without an entry it has no columns either.
        return subs.reshape(-1, len(data.shape)), np.asarray(data.vals).reshape(-1), tuple(data.shape)
    if hasattr(data, "tocoo"):
        cells = data.tocoo()
        return np.column_stack([cells.row, cells.col]), cells.data, cells.shape
    if hasattr(data, "coords") and hasattr(data, "data") and hasattr(data, "shape"):
        return np.asarray(data.coords).T, data.data, data.shape
    if isinstance(data, tuple):
        return None
    if not isinstance(data, np.ndarray) and isinstance(getattr(data, "data", None), np.ndarray):
        # A dense tensor of pyttb.
        data = data.data
    is_masked = isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data)
    dense = np.ma.getdata(data) if is_masked else np.asarray(data)
    if not (is_masked or mask is not None or alone or dense.ndim > 2):
        return None
    if dense.ndim < 2 or dense.dtype.kind not in "biuf":
        raise ValueError(f"a dense tensor has numbers and 2 or more modes, but this has {dense.dtype} and {dense.ndim}")
    seen = np.isfinite(dense) if dense.dtype.kind == "f" else np.ones(dense.shape, dtype=bool)
    if dense.dtype.kind == "f" and np.isinf(dense).any():
        raise ValueError("a dense tensor has numbers that are infinite: those that are unknown are NaN")
    if mask is not None:
        wanted = np.asarray(mask)
        if wanted.shape != dense.shape:
            raise ValueError(f"mask has the shape {wanted.shape}, but the tensor {dense.shape}")
        seen &= wanted.astype(bool)
    if is_masked:
        seen &= ~np.ma.getmaskarray(data)
    if not seen.any():
        raise ValueError("no cell of the tensor is observed: all are NaN or masked")
    return np.argwhere(seen), dense[seen], dense.shape


def _coordinates(coords: Any) -> Array:
    """A row per cell and a column per mode."""
    if isinstance(coords, tuple):
        sizes = {np.shape(index) for index in coords}
        if len(sizes) > 1:
            raise ValueError(f"the arrays of coords should be of one length, but are of {sorted(sizes)}")
        return np.column_stack([np.asarray(index) for index in coords])
    cells = np.asarray(coords)
    if cells.ndim != 2:
        raise ValueError(f"coords should have a row per cell and a column per mode, but has {cells.ndim} dimension(s)")
    return cells


def _indices(column: Any) -> np.ndarray[Any, np.dtype[np.uint32]]:
    array = np.asarray(column)
    if array.dtype.kind not in "iu" or (array.size and (array.min() < 0 or array.max() >= 2**32 - 1)):
        raise ValueError("coords should be whole numbers from 0 to 2^32 - 2")
    return np.ascontiguousarray(array, dtype=np.uint32)


def _matrix(number: int, mode: int, matrix: Any, absent: str = "missing", weight: float | None = None) -> _s3cmtf._Indexed:
    cells = matrix.tocoo()
    values = np.ascontiguousarray(cells.data, dtype=np.float32)
    return int(mode), absent, _indices(cells.row), _indices(cells.col), values, weight, f"matrix{number + 1}"


def _whole(run: _s3cmtf.Run, mode: int) -> Array:
    """A factor with a row for every index."""
    factor, average = run.factor(mode)
    ids, size = run.ids(mode)
    if len(ids) == size:
        return factor
    whole = np.tile(average, (size, 1)).astype(factor.dtype)
    whole[ids] = factor
    return whole
