"""``python -m s3cmtf.cluster fit``, ``predict`` and ``recommend``: for a shell, and for ``ray job submit``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from .. import _s3cmtf
from .._coupled import Coupled
from ..batch import predict, recommend
from . import fit
from ._table import table

KINDS = ("zeros", "missing", "graph")


def couple(text: str) -> Coupled:
    """``movie=movies.csv`` or ``movie=movies.csv,zeros``."""
    mode, equals, rest = text.partition("=")
    if not equals or not rest:
        raise argparse.ArgumentTypeError(f"{text}: should be MODE=FILE or MODE=FILE,{'|'.join(KINDS)}")
    path, _, kind = rest.rpartition(",")
    return Coupled(mode, path, absent=kind) if path and kind in KINDS else Coupled(mode, rest)


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(prog="python -m s3cmtf.cluster", description="Works on a Ray cluster.")
    verbs = words.add_subparsers(dest="verb", required=True)
    own = verbs.add_parser("fit", help="fits a model and saves it as a folder")
    own.add_argument(
        "files", nargs="+", help="Parquet or CSV files, patterns, folders or addresses such as s3://bucket/ratings"
    )
    own.add_argument("-o", "--out", required=True, help="the folder of the model, or an address")
    own.add_argument("--modes", help="the columns that are the modes, separated by commas")
    own.add_argument("--value", help="the column of values")
    own.add_argument("--couple", type=couple, action="append", default=[], metavar="MODE=FILE[,KIND]", help="a side table")
    own.add_argument("--test", action="append", help="files of a test set")
    own.add_argument("--holdout", type=float, help="a fraction of the entries to hold out")
    own.add_argument("--duplicates", help="how to merge cells that occur more than once: mean, sum or error")
    own.add_argument("--skip-empty", action="store_true", help="skips rows in which a value or an id is missing")
    own.add_argument(
        "--rank", "--ranks", dest="ranks", help="one rank, or one for each mode, separated by commas; auto finds them"
    )
    own.add_argument(
        "--core", choices=("full", "diagonal"), help="all interactions of concepts, or those of like concepts alone"
    )
    own.add_argument("--without", help="components of the model to leave out, separated by commas")
    own.add_argument("--epochs", type=int, help="the number of Gibbs sweeps")
    own.add_argument("--seed", type=int, help="the random seed")
    own.add_argument("--patience", type=int, help="early stopping after so many epochs without a better RMSE")
    own.add_argument(
        "--tolerance", type=float, help="stop when the RMSE would change by less than this share of it; 0: never"
    )
    own.add_argument("--orthogonal", action="store_true", default=None, help="makes the factors orthogonal at the end")
    own.add_argument("--checkpoint", help="a folder that all workers reach, or an address")
    own.add_argument("--checkpoint-every", type=float, default=600.0, metavar="SECONDS", help="the interval of checkpoints")
    _workers(own)
    own = verbs.add_parser("predict", help="predicts the cells of tables and writes them as Parquet files")
    own.add_argument("model", help="the folder of a model, or its address")
    own.add_argument("files", nargs="+", help="Parquet or CSV files, patterns, folders or addresses")
    own.add_argument("--out", required=True, help="the folder of the predictions, or an address")
    own.add_argument("--std", action="store_true", help="also the predictive standard deviation")
    own.add_argument("--interval", type=float, metavar="LEVEL", help="also the bounds of an interval of this probability")
    _workers(own)
    own = verbs.add_parser(
        "recommend", help="recommends items to all entities of a mode and writes the lists as Parquet files"
    )
    own.add_argument("model", help="the folder of a model, or its address")
    own.add_argument("--by", required=True, help="the mode of those who are recommended something")
    own.add_argument("--items", help="the mode of what is recommended; the other one, where there are two")
    own.add_argument("--out", required=True, help="the folder of the lists, or an address")
    own.add_argument("-n", type=int, default=10, help="how many for each")
    own.add_argument("--include-seen", action="store_true", help="items with a training entry, too")
    own.add_argument("--score", choices=("rating", "choice", "both"), help="what to rank by")
    _workers(own)
    return words


def _workers(own: argparse.ArgumentParser) -> None:
    """What all verbs have."""
    own.add_argument("--workers", type=int, help="how many workers; one for each node of the cluster")
    own.add_argument("--threads-per-worker", type=int, metavar="N", help="threads of each worker; all processors of a node")
    own.add_argument("--memory-per-worker", metavar="SIZE", help="the memory that Ray reserves for each worker, such as 8GB")
    own.add_argument("--address", default="auto", help="the Ray cluster; auto is the one that this runs in, or a new one")
    own.add_argument("-q", "--quiet", action="store_true", help="no progress")


def settings(said: argparse.Namespace) -> dict[str, Any]:
    names = ("core", "epochs", "seed", "tolerance", "patience", "orthogonal")
    own: dict[str, Any] = {name: getattr(said, name) for name in names if getattr(said, name) is not None}
    if said.without is not None:
        own["without"] = said.without.split(",")
    if said.ranks is not None:
        own["ranks"] = said.ranks if said.ranks == "auto" else [int(rank) for rank in said.ranks.split(",")]
    return own


def every_two_seconds(quiet: bool, say: Callable[[Any], str]) -> Callable[[Any], bool]:
    """Tells of progress, but not too often; never asks to stop."""
    last = [0.0]

    def observe(news: Any) -> bool:
        now = time.monotonic()
        if not quiet and now - last[0] > 2:
            last[0] = now
            print(say(news), file=sys.stderr, flush=True)
        return False

    return observe


def epoch(text: str) -> str:
    one = json.loads(text)
    test = "" if one.get("test_rmse") is None else f" test {one['test_rmse']:.5g}"
    return f"epoch {one['epoch']} RMSE train {one['train_rmse']:.5g}{test}"


def resources(said: argparse.Namespace) -> dict[str, Any]:
    memory = None if said.memory_per_worker is None else _s3cmtf.parse_size(said.memory_per_worker)
    return {
        "workers": said.workers,
        "threads_per_worker": said.threads_per_worker,
        "memory_per_worker": memory,
        "address": said.address,
    }


def fitted(said: argparse.Namespace) -> str:
    _, usage = fit(
        said.files,
        modes=None if said.modes is None else said.modes.split(","),
        value=said.value,
        couple=said.couple,
        test=said.test,
        duplicates=said.duplicates,
        skip_empty=said.skip_empty,
        holdout=said.holdout,
        settings=settings(said),
        out=said.out,
        checkpoint=said.checkpoint,
        checkpoint_every=said.checkpoint_every,
        observe=every_two_seconds(said.quiet, epoch),
        **resources(said),
    )
    return table(usage)


def predicted(said: argparse.Namespace) -> str:
    observe = every_two_seconds(said.quiet, lambda cells: f"{cells} cells")
    cells = predict(
        said.model, said.files, out=said.out, std=said.std, interval=said.interval, observe=observe, **resources(said)
    )
    return f"{cells} cells are in {said.out}"


def recommended(said: argparse.Namespace) -> str:
    observe = every_two_seconds(said.quiet, lambda rows: f"{rows} recommendations")
    words = {"n": said.n, "include_seen": said.include_seen, "score": said.score}
    rows = recommend(said.model, said.by, said.items, out=said.out, observe=observe, **words, **resources(said))
    return f"{rows} recommendations are in {said.out}"


def main() -> int:
    said = parser().parse_args()
    try:
        print({"fit": fitted, "predict": predicted, "recommend": recommended}[said.verb](said))
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        print(f"s3cmtf.cluster: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
