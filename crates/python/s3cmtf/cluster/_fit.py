"""A fit, as it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._coupled import Coupled
from ._driver import Resources, run
from ._worker import Plan


def paths_of(data: Any, what: str) -> list[str]:
    """Files, by a path, an address, a pattern, a folder, or several."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return [os.fspath(one) for one in data]
    raise TypeError(
        f"{what} should be files where workers of a cluster share them: a path, a pattern, a folder or an address such as "
        f"s3://bucket/folder, but is a {type(data).__name__}"
    )


def fit(
    files: Any,
    *,
    modes: Sequence[str] | None = None,
    value: str | None = None,
    couple: Sequence[Coupled] | Coupled | None = None,
    test: Any = None,
    duplicates: str | None = None,
    skip_empty: bool = False,
    holdout: float | None = None,
    settings: Mapping[str, Any] | None = None,
    preset: str | None = None,
    out: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 600.0,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    memory_per_worker: int | None = None,
    address: str = "auto",
    observe: Callable[[str], bool] | None = None,
) -> tuple[bytes | None, list[dict[str, Any]]]:
    """Fits a model on the workers of a Ray cluster, and saves it as the folder ``out``, or returns it as an archive of that folder.

    Parameters
    ----------
    files : Parquet or CSV files with a row per observed cell: a path, a pattern, a folder or an address such as
        ``s3://bucket/ratings``, or several; every worker must reach them. A worker reads whole files, or row groups of
        Parquet files where those are fewer than the workers.
    modes, value, couple, test, duplicates, skip_empty : as :class:`s3cmtf.S3CMTF` has them.
    holdout : a fraction of the entries to hold out.
    settings, preset : settings by the names of the library, such as ``{"ranks": [10], "epochs": 120}``.
    out : where the model goes: a folder that the first worker reaches, or an address.
    checkpoint, checkpoint_every : a folder that all workers reach, or an address, and the interval in seconds. A run that loses
        workers goes on from there, and so does the same call once everything was lost.
    workers, threads_per_worker, memory_per_worker : what workers are given; by default there is one for each node of the
        cluster, with its processors. Memory, in bytes, is what Ray reserves for each.
    address : the cluster; ``"auto"`` is the one that this program runs in, or a new one on this machine.
    observe : called with each epoch, as JSON; the run stops where it answers true.

    Returns the model, None where it was saved, and for each worker its seconds, those of loading and of the exchange, and the bytes
    that it sent and received.
    """
    matrices = [couple] if isinstance(couple, Coupled) else list(couple or [])
    plan = Plan(
        pieces=[],
        test=None,
        modes=None if modes is None else [str(mode) for mode in modes],
        value=value,
        couple=matrices,
        duplicates=duplicates,
        skip_empty=skip_empty,
        settings=dict(settings or {}),
        preset=preset,
        holdout=holdout,
        checkpoint=None if checkpoint is None else os.fspath(checkpoint),
        checkpoint_every=checkpoint_every,
        out=None if out is None else os.fspath(out),
    )
    tested = None if test is None else paths_of(test, "test")
    wanted = Resources(workers, threads_per_worker, memory_per_worker)
    return run(plan, paths_of(files, "files"), tested, wanted, address, observe)
