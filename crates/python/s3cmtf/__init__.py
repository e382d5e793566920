"""Sparse coupled matrix-tensor factorization: Bayesian Tucker models of a sparse tensor and the matrices coupled to it.

>>> import numpy as np, s3cmtf
>>> model = s3cmtf.S3CMTF(rank=2, epochs=5)
>>> cells = np.array([[0, 0], [0, 1], [1, 1], [2, 0], [2, 1]])
>>> model.fit(cells, [5.0, 3.0, 2.0, 4.0, 1.0]).predict(cells).shape
(5,)
"""

from __future__ import annotations

from typing import Any

from ._coupled import Coupled
from ._discovery import Clusters, Concepts
from ._errors import Note, UnknownName, not_fitted_error
from ._estimator import S3CMTF, convert, load
from ._evaluation import Ablation, Evaluation
from ._factorize import TuckerTensor, factorize
from ._limits import limit_memory
from ._parts import CoupledFactor, Factors
from ._progress import Epoch
from ._s3cmtf import __version__, instructions
from ._tables import Files
from ._world import World, make_world

__all__ = [
    "Ablation",
    "S3CMTF",
    "Clusters",
    "Concepts",
    "Coupled",
    "CoupledFactor",
    "Epoch",
    "Evaluation",
    "Factors",
    "Files",
    "NotFittedError",
    "Note",
    "TuckerTensor",
    "UnknownName",
    "World",
    "__version__",
    "convert",
    "factorize",
    "instructions",
    "limit_memory",
    "load",
    "make_world",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, which nobody should wait for who does not need it.
    if name == "NotFittedError":
        return not_fitted_error()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
