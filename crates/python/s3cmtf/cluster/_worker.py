"""One of the workers that share a run, as an actor of Ray."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

from .. import _s3cmtf
from .._coupled import Coupled, natives
from . import _files
from ._exchange import ObjectStore


def peak_memory() -> int:
    """The most bytes of memory that this process has had at any time; 0 where that is not known."""
    if sys.platform == "win32":
        return 0
    import resource

    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


@dataclass
class Plan:
    """All that workers are told: what each reads, and what is made of it."""

    pieces: list[list[_files.Piece]]
    test: list[list[_files.Piece]] | None
    modes: list[str] | None
    value: str | None
    couple: list[Coupled]
    duplicates: str | None
    skip_empty: bool
    settings: dict[str, Any]
    preset: str | None
    holdout: float | None
    checkpoint: str | None
    checkpoint_every: float
    out: str | None
    newest: str | None = None
    attempt: int = 1
    notes: list[str] = field(default_factory=list)


class Worker:
    """Reads its part of the tables, trains together with the others, and keeps nothing."""

    def __init__(self, node: int, nodes: int, hub: Any) -> None:
        self.exchange = ObjectStore(hub, node, nodes)
        self.hub = hub
        self.scratch = ""

    def fit(self, plan: Plan) -> dict[str, Any]:
        """Trains; the first worker also saves the model, or returns it."""
        with tempfile.TemporaryDirectory(prefix="s3cmtf-") as self.scratch:
            return self._fit(plan)

    def _fit(self, plan: Plan) -> dict[str, Any]:
        import ray

        node, start = self.exchange.node, time.monotonic()
        checkpoints = _files.Checkpoints(plan.checkpoint)
        begun = checkpoints.get(self.scratch, plan.newest)
        table = _files.read(plan.pieces[node], self.scratch).skipping(plan.skip_empty)
        couple = natives([self._here(matrix) for matrix in plan.couple])
        problem, notes = _s3cmtf.Problem.read(table, plan.modes, plan.value, couple, plan.duplicates, exchange=self.exchange)
        del table
        test = None
        if plan.test is not None:
            test = (_files.read(plan.test[node], self.scratch).skipping(plan.skip_empty), plan.value)
        loaded = time.monotonic() - start
        folder = os.path.join(self.scratch, "checkpoint")
        kept = None if plan.checkpoint is None or node > 0 else (folder, plan.checkpoint_every)

        def observe(text: str) -> bool:
            epoch = json.loads(text)["epoch"]
            if node == 0:
                # That of the epoch before this one.
                checkpoints.put(folder, f"checkpoint-{epoch - 1}-{plan.attempt}")
            told = self.hub.tell.remote(node, text, {**self.exchange.usage(), "loading_seconds": loaded})
            return bool(ray.get(told)) if node == 0 else False

        run, more = _s3cmtf.train(
            problem, plan.settings, plan.preset, test, plan.holdout, None, kept, begun, False, observe, False, self.exchange
        )
        seconds = time.monotonic() - start
        result = {
            "node": node,
            "seconds": seconds,
            "loading_seconds": loaded,
            "memory": peak_memory(),
            **self.exchange.usage(),
            "notes": [*notes, *more],
        }
        if node == 0:
            result["model"] = self._save(run, plan.out)
        return result

    def _here(self, matrix: Coupled) -> Coupled:
        """The same matrix, with a copy of its files where they are not local."""
        data = matrix.data
        if isinstance(data, str) and not _files.is_local(data):
            data = [_files.local(path, self.scratch) for path in _files.expanded([data])]
        words = {name: getattr(matrix, name) for name in ("absent", "columns", "split", "weight", "name", "index", "labels")}
        return Coupled(matrix.mode, data, **words)

    def _save(self, run: _s3cmtf.Run, out: str | None) -> bytes | None:
        """Saves a model where it is asked for, else returns its folder as an archive."""
        folder = os.path.join(self.scratch, "model")
        if out is not None and _files.is_local(out):
            run.save(out, False)
            return None
        run.save(folder, False)
        if out is None:
            return _files.packed(folder)
        from pyarrow import fs

        system, inside = _files.filesystem(out)
        # Stores have no folders, but others that are reached by an address do.
        system.create_dir(inside, recursive=True)
        fs.copy_files(folder, inside, destination_filesystem=system)
        return None

    def ping(self) -> int:
        """The process, once it is there."""
        return os.getpid()

    def __ray_shutdown__(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)
