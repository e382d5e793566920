"""What comes after a fit, or before it: more data, and a search for settings."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import _s3cmtf
from ._checks import number
from ._coupled import Coupled, natives
from ._errors import tell
from ._frames import frame
from ._parameters import PARAMETER, parameters
from ._results import SimpleErrors
from ._tables import Given, given

Self = TypeVar("Self", bound="Later")


class Later:
    """The part of the estimator that goes on with a model."""

    modes_: list[str]
    couple: Sequence[Coupled] | Coupled | None

    if TYPE_CHECKING:

        def fit(self: Self, *args: Any, **words: Any) -> Self: ...

        def set_params(self: Self, **params: Any) -> Self: ...

        def _fitted(self) -> _s3cmtf.Run: ...

        def _headings(self, run: _s3cmtf.Run) -> list[str]: ...

        def _check_width(self, table: Given, order: int, heading: str | None = None) -> None: ...

        def _take(self, run: _s3cmtf.Run, table: Given | None) -> None: ...

        def _settings(self) -> dict[str, Any]: ...

        def _preset(self) -> str | None: ...

        def _read(
            self,
            X: Any,
            y: Any,
            modes: Sequence[str | int] | str | None,
            value: str | int | None,
            couple: Sequence[Coupled] | Coupled | None,
        ) -> tuple[_s3cmtf.Problem, Given, str | None]: ...

    def partial_fit(
        self: Self, X: Any, y: Any = None, *, couple: Sequence[Coupled] | Coupled | None = None, **words: Any
    ) -> Self:
        """Updates the model with new data: rows for new entities, and updated ones for those with new entries.

        The first call fits. The data of training have the new ones afterwards, so that ``recommend`` leaves out what was seen in either.
        """
        if "_run" not in self.__dict__:
            return self.fit(X, y, couple=couple, **words)
        return self._take_in(X, y, couple, words.get("value"), update=True)

    def fold_in(
        self: Self,
        X: Any = None,
        y: Any = None,
        *,
        couple: Sequence[Coupled] | Coupled | None = None,
        value: str | int | None = None,
    ) -> Self:
        """Adds rows for new entities, from their entries or their rows of coupled matrices; nothing else changes."""
        return self._take_in(X, y, couple, value, update=False)

    def _take_in(
        self: Self, X: Any, y: Any, couple: Sequence[Coupled] | Coupled | None, value: str | int | None, update: bool
    ) -> Self:
        run = self._fitted()
        table, heading = (None, None) if X is None else given(X, "X", y, self._headings(run))
        if table is not None:
            self._check_width(table, len(run.modes()), heading)
        native = None if table is None else table.table
        column = heading if table is None or value is None else heading or table.column(value)
        run, added, updated, notes = _s3cmtf.take_in(run, native, natives(couple, run.modes()), column, update)
        tell(notes)
        self._take(run, None)
        self.added_ = dict(zip(self.modes_, added, strict=True))
        self.updated_ = dict(zip(self.modes_, updated, strict=True))
        return self

    def tune(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        modes: Sequence[str | int] | str | None = None,
        value: str | int | None = None,
        couple: Sequence[Coupled] | Coupled | None = None,
        budget: float = 60.0,
        holdout: float = 0.1,
        refit: bool = True,
    ) -> Self:
        """Hyperparameter search on held-out entries, for so many seconds; fits with the best settings.

        Once settings are found, it is tried to leave coupled matrices out, and to have them count otherwise. The settings are
        parameters of the model afterwards, ``couple_`` the matrices to fit with, and ``trials_`` says what was tried.
        ``simple_errors_`` has what simple predictions come to on the same entries, ``mean_rmse`` and ``offsets_rmse``: a model
        should beat both.
        """
        problem, table, _ = self._read(X, y, modes, value, couple)
        coupled = couple if couple is not None else self.couple
        matrices = [coupled] if isinstance(coupled, Coupled) else list(coupled or [])
        searched = _s3cmtf.tune(
            problem,
            self._settings(),
            self._preset(),
            number("budget", budget),
            number("holdout", holdout),
            len(matrices),
            None,
        )
        found = json.loads(searched)
        trials = found["trials"]
        columns = _trial_columns(trials)
        if any(found["words"]):
            columns["change"] = np.array(found["words"], dtype=object)
        self.trials_ = frame(columns, table.library)
        self.simple_errors_ = SimpleErrors(mean_rmse=found["mean_rmse"], offsets_rmse=found["offsets_rmse"])
        self.couple_ = _changed(matrices, found["changes"])
        chosen = found["chosen"]
        if chosen is not None:
            changed = {name: said for name, said in chosen.items() if said != trials[0]["params"][name]}
            self.set_params(**parameters(changed))
        tell([found["note"]] if found["note"] else [])
        return self.fit(X, y, modes=modes, value=value, couple=self.couple_) if refit else self


def _changed(matrices: list[Coupled], changes: list[dict[str, Any]]) -> list[Coupled]:
    """The matrices as a search would have them."""
    to = {change["place"]: change["to"] for change in changes}
    kept = []
    for place, matrix in enumerate(matrices):
        if to.get(place) == "left-out":
            continue
        if place in to:
            matrix = copy.copy(matrix)
            matrix.weight = None if to[place] == "no-weight" else to[place]["weight"]
        kept.append(matrix)
    return kept


def _trial_columns(trials: list[dict[str, Any]]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: [trial[name] for trial in trials] for name in ("rmse", "seconds", "difference", "noise")
    }
    params = [trial["params"] for trial in trials]
    for name in params[0] if params else []:
        said = [json.dumps(one[name]) if isinstance(one[name], list) else one[name] for one in params]
        if any(value != said[0] for value in said):
            columns[PARAMETER.get(name, name)] = np.array(said, dtype=object)
    return columns
