"""``python -m s3cmtf.cluster fit``: for a shell, and for ``ray job submit``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from .. import _s3cmtf
from .._coupled import Coupled
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
    words = argparse.ArgumentParser(prog="python -m s3cmtf.cluster", description="Fits on the workers of a Ray cluster.")
    verbs = words.add_subparsers(dest="verb", required=True)
    own = verbs.add_parser("fit", help="fits a model and saves it as a folder")
    own.add_argument(
        "files", nargs="+", help="Parquet or CSV files, patterns, folders or addresses such as s3://bucket/ratings"
    )
    own.add_argument("--out", required=True, help="the folder of the model, or an address")
    own.add_argument("--modes", help="the columns that are the modes, separated by commas")
    own.add_argument("--value", help="the column of values")
    own.add_argument("--couple", type=couple, action="append", default=[], metavar="MODE=FILE[,KIND]", help="a side table")
    own.add_argument("--test", action="append", help="files of a test set")
    own.add_argument("--holdout", type=float, help="a fraction of the entries to hold out")
    own.add_argument("--duplicates", help="how to merge cells that occur more than once: mean, sum or error")
    own.add_argument("--skip-empty", action="store_true", help="skips rows in which a value or an id is missing")
    own.add_argument("--ranks", help="one rank, or one for each mode, separated by commas; auto finds them")
    own.add_argument("--epochs", type=int, help="the number of Gibbs sweeps")
    own.add_argument("--seed", type=int, help="the random seed")
    own.add_argument("--patience", type=int, help="early stopping after so many epochs without a better RMSE")
    own.add_argument("--checkpoint", help="a folder that all workers reach, or an address")
    own.add_argument("--checkpoint-every", type=float, default=600.0, metavar="SECONDS", help="the interval of checkpoints")
    own.add_argument("--workers", type=int, help="how many workers; one for each node of the cluster")
    own.add_argument("--threads-per-worker", type=int, metavar="N", help="threads of each worker; all processors of a node")
    own.add_argument("--memory-per-worker", metavar="SIZE", help="the memory that Ray reserves for each worker, such as 8GB")
    own.add_argument("--address", default="auto", help="the Ray cluster; auto is the one that this runs in, or a new one")
    own.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return words


def settings(said: argparse.Namespace) -> dict[str, Any]:
    own: dict[str, Any] = {
        name: getattr(said, name) for name in ("epochs", "seed", "patience") if getattr(said, name) is not None
    }
    if said.ranks is not None:
        own["ranks"] = said.ranks if said.ranks == "auto" else [int(rank) for rank in said.ranks.split(",")]
    return own


def main() -> int:
    said = parser().parse_args()
    last = [0.0]

    def observe(text: str) -> bool:
        now, epoch = time.monotonic(), json.loads(text)
        if not said.quiet and now - last[0] > 2:
            last[0] = now
            test = "" if epoch.get("test_rmse") is None else f" test {epoch['test_rmse']:.5g}"
            print(f"epoch {epoch['epoch']} RMSE train {epoch['train_rmse']:.5g}{test}", file=sys.stderr, flush=True)
        return False

    memory = None if said.memory_per_worker is None else _s3cmtf.parse_size(said.memory_per_worker)
    try:
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
            workers=said.workers,
            threads_per_worker=said.threads_per_worker,
            memory_per_worker=memory,
            address=said.address,
            observe=observe,
        )
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        print(f"s3cmtf.cluster: {error}", file=sys.stderr)
        return 1
    print(table(usage))
    return 0


if __name__ == "__main__":
    sys.exit(main())
