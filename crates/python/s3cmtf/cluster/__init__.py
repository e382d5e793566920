"""Fits on many machines, by Ray: the same model, bit for bit, as on one.

>>> from s3cmtf import cluster  # doctest: +SKIP
>>> cluster.fit("ratings/*.parquet", modes=["user", "item", "time:month"], value="rating", out="model")  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._coupled import Coupled
from . import _batch
from ._driver import Resources, run
from ._files import unpacked as unpacked
from ._worker import Plan

__all__ = ["fit", "predict", "recommend"]


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


def predict(
    model: str | os.PathLike[str],
    files: Any,
    *,
    out: str | os.PathLike[str],
    std: bool = False,
    interval: float | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    memory_per_worker: int | None = None,
    address: str = "auto",
    observe: Callable[[int], object] | None = None,
) -> int:
    """Predicts the cells of tables on the workers of a Ray cluster, and writes them with their predictions as Parquet files.

    Parameters
    ----------
    model : the folder of a model, or its address; every worker reads it and holds it.
    files : Parquet or CSV files with a row per cell, as :func:`fit` takes them. A worker holds one row group, or one CSV file, at a time.
    out : a folder for one file for each of these, or an address. A file has its name once it is whole; the same call writes it again.
    std, interval : also the predictive standard deviation, and the bounds between which a value lies with this probability.
    workers, threads_per_worker, memory_per_worker, address : as :func:`fit` has them.
    observe : called with the number of cells so far.

    Returns the number of cells. A worker that is lost is started again.
    """
    wanted = Resources(workers, threads_per_worker, memory_per_worker)
    return _batch.predict(
        os.fspath(model), paths_of(files, "files"), os.fspath(out), bool(std), interval, wanted, address, observe
    )


def recommend(
    model: str | os.PathLike[str],
    by: str,
    items: str | None = None,
    *,
    out: str | os.PathLike[str],
    entities: Sequence[Any] | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    memory_per_worker: int | None = None,
    address: str = "auto",
    observe: Callable[[int], object] | None = None,
    **words: Any,
) -> int:
    """Recommends items to the entities of a mode on the workers of a Ray cluster, and writes the lists as Parquet files.

    Parameters
    ----------
    model : the folder of a model, or its address; every worker reads it and holds it.
    by, items, words : as ``S3CMTF.recommend`` has them: ``n``, ``where``, ``at``, ``include_seen``, ``caution``, ``score``, ``clip``. A model that
        was fitted on a cluster has no data with it, and needs ``include_seen=True``.
    entities : for whom; None is all of the mode.
    out, workers, threads_per_worker, memory_per_worker, address : as :func:`predict` has them.
    observe : called with the number of rows so far.

    Returns the number of rows.
    """
    wanted = Resources(workers, threads_per_worker, memory_per_worker)
    return _batch.recommend(os.fspath(model), os.fspath(out), by, items, entities, words, wanted, address, observe)
