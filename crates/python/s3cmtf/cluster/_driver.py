"""Starts workers, follows them, and starts them again where some are lost. It holds no entries, no names and no rows."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from . import _files
from ._exchange import Hub
from ._worker import Plan, Worker

LOOK = 0.3
"""Seconds between two looks at what workers do."""
TRIES = 5
"""So often workers may be lost in a row without a new checkpoint or epoch."""
PLACES = 60.0
"""Seconds that workers wait for processors before fewer of them go on."""


@dataclasses.dataclass(frozen=True)
class Resources:
    """What workers are given: None is one worker for each node of the cluster, and all processors of it."""

    workers: int | None = None
    threads: int | None = None
    memory: int | None = None


def connect(address: str) -> Any:
    """Joins a cluster of Ray: that which this program runs in, or where there is none, a new one on this machine."""
    try:
        import ray
    except ImportError as error:
        raise ImportError("cluster needs Ray: pip install 's3cmtf[cluster]'") from error
    if not ray.is_initialized():
        quiet = {"logging_level": "warning", "log_to_driver": False, "include_dashboard": False}
        if address != "auto":
            ray.init(address=address, **quiet)
        else:
            try:
                ray.init(address="auto", **quiet)
            except ConnectionError:
                ray.init(**quiet)
    return ray


def sizes(ray: Any, wanted: Resources) -> tuple[int, int]:
    """How many workers, of how many threads each."""
    cpus = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    cpus = [count for count in cpus if count > 0]
    if not cpus:
        raise RuntimeError("the cluster has no processor: start Ray with --num-cpus, or wait for its nodes")
    if wanted.threads is None and wanted.workers is not None:
        threads = max(1, sum(cpus) // wanted.workers)
        while threads > 1 and sum(count // threads for count in cpus) < wanted.workers:
            threads -= 1
    else:
        threads = wanted.threads or min(cpus)
    workers = wanted.workers or sum(count // threads for count in cpus)
    fit = sum(count // threads for count in cpus)
    if workers < 1 or fit < workers:
        raise RuntimeError(
            f"{workers} workers of {threads} threads do not fit into the cluster, whose nodes have {cpus} processors: "
            f"ask for {max(fit, 1)} workers or fewer, or for fewer threads each"
        )
    return workers, threads


def run(
    plan: Plan,
    paths: list[str],
    test: list[str] | None,
    wanted: Resources,
    address: str,
    observe: Callable[[str], bool] | None,
) -> tuple[bytes | None, list[dict[str, Any]]]:
    """Runs a plan to its end, whatever workers are lost on the way; returns the model, unless it was saved, and where time went."""
    ray = connect(address)
    checkpoints = _files.Checkpoints(plan.checkpoint)
    failed, known = 0, 0
    for attempt in range(1, 10_000):
        workers, threads = _settled(ray, wanted, attempt)
        pieces = _files.pieces(paths, workers)
        threads = max(threads, 1)
        tested = None if test is None else _whole(test, len(pieces))
        newest = checkpoints.newest()
        settings = {**plan.settings, "threads": threads}
        own = dataclasses.replace(plan, pieces=pieces, test=tested, settings=settings, newest=newest, attempt=attempt)
        try:
            results, known = _attempt(ray, own, threads, wanted.memory, observe, known)
        except _Lost as lost:
            failed = 0 if lost.known > known or checkpoints.newest() != newest else failed + 1
            known = max(known, lost.known)
            if failed >= TRIES:
                raise RuntimeError(
                    f"workers were lost {failed} times in a row without any progress, the last: {lost}"
                ) from lost
            went = "from the last checkpoint" if checkpoints.newest() else "from the beginning: there is no checkpoint"
            print(f"s3cmtf: a worker was lost ({lost}); going on {went}", file=sys.stderr, flush=True)
            continue
        return results[0].pop("model"), results
    raise RuntimeError("workers were lost too often")


def _whole(paths: list[str], workers: int) -> list[list[_files.Piece]]:
    """A test set for so many workers: each must have some of it."""
    own = _files.pieces(paths, workers)
    if len(own) < workers:
        raise ValueError(
            f"the test set has {len(own)} files or row groups, fewer than there are workers: write it in {workers} or more"
        )
    return own


def _settled(ray: Any, wanted: Resources, attempt: int) -> tuple[int, int]:
    """Sizes for a cluster that may have lost nodes: after a loss those that are left do, once others had time to come back."""
    end = time.monotonic() + (PLACES if attempt > 1 else 0)
    while True:
        try:
            return sizes(ray, wanted)
        except RuntimeError:
            if time.monotonic() < end:
                time.sleep(1)
            elif attempt > 1 and wanted.workers is not None:
                return sizes(ray, Resources(None, wanted.threads, wanted.memory))
            else:
                raise


class _Lost(Exception):
    """A worker died, or cannot be reached."""

    def __init__(self, what: str, known: int) -> None:
        super().__init__(what)
        self.known = known


def _attempt(
    ray: Any, plan: Plan, threads: int, memory: int | None, observe: Callable[[str], bool] | None, known: int
) -> tuple[list[dict[str, Any]], int]:
    """One set of workers, from the newest checkpoint on."""
    nodes = len(plan.pieces)
    hub = ray.remote(Hub).options(num_cpus=0, max_concurrency=4 * nodes + 8).remote(nodes)
    # A worker that is started again would know nothing of the others: all are started together.
    more = {} if memory is None else {"memory": memory}
    actor = ray.remote(Worker).options(
        num_cpus=threads, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD", **more
    )
    workers = [actor.remote(node, nodes, hub) for node in range(nodes)]
    heard = 0
    try:
        running = [worker.fit.remote(plan) for worker in workers]
        left, results = list(running), {}
        while left:
            done, left = ray.wait(left, num_returns=len(left), timeout=LOOK)
            for one in done:
                result = ray.get(one)
                results[result["node"]] = result
            epochs, usage = ray.get(hub.news.remote(heard))
            heard += len(epochs)
            for text in epochs:
                epoch = json.loads(text)["epoch"]
                if epoch > known:
                    known = epoch
                    if observe is not None and observe(text):
                        hub.stop.remote()
        return [results[node] for node in range(nodes)], known
    except (ray.exceptions.RayActorError, ray.exceptions.NodeDiedError, ray.exceptions.ObjectLostError) as error:
        raise _Lost(str(error).splitlines()[0], known) from error
    except ray.exceptions.RayTaskError as error:
        cause = error.as_instanceof_cause()
        # Others are told by the worker that lost them; what is wrong with the data is nothing that goes by itself.
        lost = ("nodes cannot reach each other", "ActorDiedError", "ObjectLostError", "OwnerDiedError")
        if any(word in str(error) for word in lost):
            raise _Lost("it could not be reached by the others", known) from error
        raise getattr(cause, "cause", cause) from None
    finally:
        for worker in [*workers, hub]:
            ray.kill(worker)
