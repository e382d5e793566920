"""Predictions and recommendations in batch, by Ray: tables in, tables out, by workers that each have the model.

>>> from s3cmtf import batch  # doctest: +SKIP
>>> batch.predict("model", "cells/*.parquet", out="predictions", std=True)  # doctest: +SKIP
"""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from ._estimator import load
from .cluster import _files
from .cluster._driver import Resources, connect, sizes
from .cluster._fit import paths_of

__all__ = ["predict", "recommend"]

ENTITIES = 10_000
"""So many entities are recommended items together."""


class Answers:
    """A model, and what is asked of it part by part. A part is written under its own name once it is whole: one that is asked for
    again, since a worker was lost, is the same."""

    def __init__(self, model: str, out: str) -> None:
        self.out = out
        if not _files.is_local(model):
            from pyarrow import fs

            system, inside = _files.filesystem(model)
            model = tempfile.mkdtemp(prefix="s3cmtf-")
            fs.copy_files(inside, model, source_filesystem=system)
        self.model = load(model)

    def predict(self, piece: _files.Piece, name: str, std: bool, interval: float | None) -> int:
        cells = _files.arrow(piece)
        value = f"predicted_{self.model._fitted().value() or 'value'}"
        if std:
            predicted, stds = self.model.predict(cells, return_std=True)
            columns = {value: predicted, "std": stds}
        else:
            columns = {value: self.model.predict(cells)}
        if interval is not None:
            columns["low"], columns["high"] = self.model.predict_interval(cells, level=interval)
        for column, values in columns.items():
            cells = cells.append_column(column, [values])
        return self._write(cells, name)

    def recommend(self, by: str, entities: list[Any], items: str | None, name: str, words: dict[str, Any]) -> int:
        import pyarrow as pa

        found = self.model.recommend(by, entities, items, **words)
        return self._write(pa.table({column: list(found[column]) for column in found}), name)

    def _write(self, table: Any, name: str) -> int:
        import pyarrow.parquet as pq

        system, inside = _files.filesystem(self.out)
        system.create_dir(inside, recursive=True)
        path = posixpath.join(inside, f"{name}.parquet")
        pq.write_table(table, path + ".new", filesystem=system)
        system.move(path + ".new", path)
        rows: int = table.num_rows
        return rows


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
    files : Parquet or CSV files with a row per cell, as :func:`s3cmtf.cluster.fit` takes them. A worker holds one row group, or one CSV file, at a time.
    out : a folder for one file for each of these, or an address. A file has its name once it is whole; the same call writes it again.
    std, interval : also the predictive standard deviation, and the bounds between which a value lies with this probability.
    workers, threads_per_worker, memory_per_worker, address : as :func:`s3cmtf.cluster.fit` has them.
    observe : called with the number of cells so far.

    Returns the number of cells. A worker that is lost is started again.
    """
    folder = os.fspath(model)
    files_given = _files.expanded(paths_of(files, "files"))
    groups = [_files.row_groups(path) if path.endswith(_files.PARQUET) else None for path in files_given]
    tasks = [
        (_files.Piece(path, None if count is None else (group,)), f"part-{number:05}-{group:05}", bool(std), interval)
        for number, (path, count) in enumerate(zip(files_given, groups, strict=True))
        for group in range(1 if count is None else count)
    ]
    wanted = Resources(workers, threads_per_worker, memory_per_worker)
    return _answered((folder, os.fspath(out)), "predict", tasks, wanted, address, observe)


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
    folder = os.fspath(model)
    if entities is None:
        if not _files.is_local(folder):
            raise ValueError("say for whom, where the model is not local: entities=[..]")
        entities = list(load(folder).names(by))
    parts = [list(entities[first : first + ENTITIES]) for first in range(0, len(entities), ENTITIES)]
    tasks = [(by, part, items, f"part-{number:05}", words) for number, part in enumerate(parts)]
    wanted = Resources(workers, threads_per_worker, memory_per_worker)
    return _answered((folder, os.fspath(out)), "recommend", tasks, wanted, address, observe)


def _answered(
    model_and_out: tuple[str, str],
    verb: str,
    tasks: list[tuple[Any, ...]],
    wanted: Resources,
    address: str,
    observe: Callable[[int], object] | None,
) -> int:
    """Deals tasks out to workers; tells how many rows there are so far."""
    ray = connect(address)
    from ray.util import ActorPool

    workers, threads = sizes(ray, wanted)
    more = {} if wanted.memory is None else {"memory": wanted.memory}
    # Whoever is lost is started again with the model, and its part is written again.
    actor = ray.remote(Answers).options(
        num_cpus=threads, max_restarts=-1, max_task_retries=-1, scheduling_strategy="SPREAD", **more
    )
    answering = [actor.remote(*model_and_out) for _ in range(min(workers, len(tasks)))]
    rows = 0
    try:
        for count in ActorPool(answering).map_unordered(lambda one, task: getattr(one, verb).remote(*task), tasks):
            rows += count
            if observe is not None:
                observe(rows)
    except ray.exceptions.RayTaskError as error:
        cause = error.as_instanceof_cause()
        raise getattr(cause, "cause", cause) from None
    finally:
        for one in answering:
            ray.kill(one)
    return rows
