"""How a run is followed while it goes on."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

BETWEEN_LINES = 2.0
"""Seconds: a log needs no more lines."""


@dataclass(frozen=True)
class Epoch:
    """What one pass over the data did; see the library's ``Epoch``."""

    epoch: int
    seconds: float
    entries_per_second: float
    train_rmse: float
    test_rmse: float | None = None
    evaluation_seconds: float = 0.0
    rate: float | None = None
    validation_rmse: float | None = None

    @classmethod
    def of(cls, said: dict[str, Any]) -> Epoch:
        """What the library says; an RMSE that is no number, which JSON has no word for, is NaN."""
        return cls(**{**said, "train_rmse": float("nan") if said["train_rmse"] is None else said["train_rmse"]})


class Watcher:
    """Tells callbacks and a bar of each epoch, and whether one of them wants the run to stop."""

    def __init__(self, epochs: int, verbose: bool, callbacks: Sequence[Callable[[Epoch], Any]]) -> None:
        self.callbacks = list(callbacks)
        self.stopped = False
        self._show = _bar(epochs) if verbose else None

    def __call__(self, text: str) -> bool:
        epoch = Epoch.of(json.loads(text))
        if self._show is not None:
            self._show.update(epoch)
        # All of them are told, also when one has had enough.
        answers = [bool(callback(epoch)) for callback in self.callbacks]
        self.stopped = self.stopped or any(answers)
        return self.stopped

    def close(self) -> None:
        if self._show is not None:
            self._show.close()


def _text(epoch: Epoch) -> str:
    test = "" if epoch.test_rmse is None else f" test {epoch.test_rmse:.5g}"
    return f"RMSE train {epoch.train_rmse:.5g}{test}"


class _Lines:
    def __init__(self, epochs: int) -> None:
        self.epochs = epochs
        self.last = float("-inf")

    def update(self, epoch: Epoch) -> None:
        now = time.monotonic()
        if now - self.last >= BETWEEN_LINES or epoch.epoch == self.epochs:
            self.last = now
            print(f"epoch {epoch.epoch}/{self.epochs} {_text(epoch)}", file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class _Bar:
    def __init__(self, epochs: int) -> None:
        with warnings.catch_warnings():
            # A notebook without widgets has a bar of text, which is good enough.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm

        self.bar = tqdm(total=epochs, unit="epoch")

    def update(self, epoch: Epoch) -> None:
        self.bar.set_postfix_str(_text(epoch), refresh=False)
        self.bar.update(epoch.epoch - self.bar.n)

    def close(self) -> None:
        self.bar.close()


def _bar(epochs: int) -> _Bar | _Lines:
    return _Bar(epochs) if importlib.util.find_spec("tqdm") is not None else _Lines(epochs)
