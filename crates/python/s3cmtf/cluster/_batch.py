"""Predictions and recommendations in batch: tables in, tables out, by workers that each have the model."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from .._estimator import load
from . import _files
from ._driver import Resources, connect, sizes

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
    model: str,
    paths: list[str],
    out: str,
    std: bool,
    interval: float | None,
    wanted: Resources,
    address: str,
    observe: Callable[[int], object] | None,
) -> int:
    """A file of predictions for each file, or row group, of cells; returns how many cells there were."""
    files = _files.expanded(paths)
    groups = [_files.row_groups(path) if path.endswith(_files.PARQUET) else None for path in files]
    tasks = [
        (_files.Piece(path, None if count is None else (group,)), f"part-{number:05}-{group:05}", std, interval)
        for number, (path, count) in enumerate(zip(files, groups, strict=True))
        for group in range(1 if count is None else count)
    ]
    return _answered(model, out, "predict", tasks, wanted, address, observe)


def recommend(
    model: str,
    out: str,
    by: str,
    items: str | None,
    entities: Sequence[Any] | None,
    words: dict[str, Any],
    wanted: Resources,
    address: str,
    observe: Callable[[int], object] | None,
) -> int:
    """A file of recommendations for every so many entities; returns how many rows there were."""
    if entities is None:
        if not _files.is_local(model):
            raise ValueError("say for whom, where the model is not local: entities=[..]")
        entities = list(load(model).names(by))
    parts = [list(entities[first : first + ENTITIES]) for first in range(0, len(entities), ENTITIES)]
    tasks = [(by, part, items, f"part-{number:05}", words) for number, part in enumerate(parts)]
    return _answered(model, out, "recommend", tasks, wanted, address, observe)


def _answered(
    model: str,
    out: str,
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
    answering = [actor.remote(model, out) for _ in range(min(workers, len(tasks)))]
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
