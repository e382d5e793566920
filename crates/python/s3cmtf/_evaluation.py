"""How good a model is on entries that it may not have seen."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _s3cmtf
from ._checks import number, switch, text, wholes
from ._errors import Note
from ._frames import Table, frame
from ._parts import place_of
from ._results import Ranking
from ._tables import Given, given


@dataclass(frozen=True)
class Evaluation:
    """How good a model is on some entries.

    ``unknown`` is how many of them have an entity that is not in the model, ``within_std`` and ``within_two_std`` the shares that
    lie within one and within two standard deviations of their predictions, 0.68 and 0.95 where those are right. ``mean_rmse`` and ``offsets_rmse`` are the errors of simple predictions, which a model
    should beat: the mean of the values of training, and that with an offset for each entity of every mode.

    A model of yes or no also has ``log_loss``, ``auc`` and ``calibration_error``: how far the share of yes lies from the predicted
    probability, on average over ten groups of equal size. One of counts has the mean Poisson ``deviance``. ``mean_log_loss`` and
    ``mean_deviance`` are those of the mean value of training. ``ranking`` says how good recommendations are (recall, NDCG and coverage, beside
    those of what is most popular), ``rankings`` the same for each ``k``, of which ``ranking`` is the first. ``segments`` is a table of errors by how much training knew, and by time.
    """

    rmse: float
    mae: float
    entries: int
    unknown: int
    within_std: float | None = None
    within_two_std: float | None = None
    mean_rmse: float | None = None
    offsets_rmse: float | None = None
    log_loss: float | None = None
    mean_log_loss: float | None = None
    auc: float | None = None
    calibration_error: float | None = None
    deviance: float | None = None
    mean_deviance: float | None = None
    ranking: Ranking | None = None
    segments: Table = None
    rankings: tuple[Ranking, ...] = ()


@dataclass(frozen=True)
class Ablation:
    """An ablation study: what each coupled matrix, and each mode of times or circumstances, contributes to a model.

    ``rmse`` is that of everything on the ``held_out`` entries, beside those of simple predictions. ``parts`` is a table with a
    row for each part: ``left_out``, its name; ``rmse`` without it; ``difference``, how much larger that is as a share of ``rmse``;
    ``noise``, the standard error of that; and ``verdict``: ``"helps"``, ``"makes no difference"`` or ``"makes it worse"``.
    """

    rmse: float | None
    mean_rmse: float | None
    offsets_rmse: float | None
    held_out: int
    parts: Table = None


class Evaluated:
    """The part of the estimator that compares predictions with values."""

    record_: dict[str, Any]

    if TYPE_CHECKING:

        def _fitted(self) -> _s3cmtf.Run: ...

        def _headings(self, run: _s3cmtf.Run) -> list[str]: ...

        def _check_width(self, table: Given, order: int, heading: str | None = None) -> None: ...

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        clip: bool | None = None,
        rank_by: str | None = None,
        items: str | None = None,
        k: int | Sequence[int] | None = None,
        relevant: float | None = None,
        caution: float | None = None,
        score: str | None = None,
        baselines: bool = False,
    ) -> Evaluation:
        """Measures predictions and recommendations by entries: a table with a column of values, or ``X`` and ``y``.

        Parameters
        ----------
        clip : whether to clip predictions to the range of the training values; if it is None, those of ``bayes`` are.
        rank_by, items : the modes to recommend to, and of the items; the first and the second if they are None.
        k : the number of recommendations, 10 if it is None; several, as in ``k=[5, 10, 20]``, are measured at once.
        relevant : items are relevant from this value on; None is the mean of whom they are recommended to.
        caution, score : as in ``recommend``.
        baselines : whether to measure item-kNN too, and EASE where users or items are at most 2,500.

        >>> import s3cmtf
        >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
        >>> model = s3cmtf.S3CMTF(rank=2, epochs=20).fit(films, modes=["user", "film"], value="stars")
        >>> found = model.evaluate({"user": [2], "film": ["A"], "stars": [4.0]})
        >>> found.entries, found.ranking["recall"]
        (1, 1.0)
        >>> found = model.evaluate({"user": [2], "film": ["A"], "stars": [4.0]}, k=[1, 2])
        >>> [(ranking["k"], ranking["recall"]) for ranking in found.rankings]
        [(1, 1.0), (2, 1.0)]
        """
        run = self._fitted()
        places = [None if name is None else place_of(run, name) for name in (rank_by, items)]
        asked = (
            places[0],
            places[1],
            wholes("k", k, 1),
            number("relevant", relevant),
            number("caution", caution),
            text("score", score, "both"),
            bool(baselines),
        )
        found = self._measure(X, y, clip, asked)
        for note in found["notes"]:
            warnings.warn(note, Note, stacklevel=2)
        segments = [
            {"mode": one["mode"], "by": one["by"], "segment": segment.pop("name"), **segment}
            for one in found["segments"]
            for segment in one["segments"]
        ]
        names = ("mode", "by", "segment", "entries", "rmse", "mae")
        columns = {name: np.array([segment[name] for segment in segments], dtype=_type(name)) for name in names}
        table = frame(columns, self.__dict__.get("_library", ""))
        rankings = tuple(found["rankings"] or ())
        return Evaluation(**found["errors"], ranking=rankings[0] if rankings else None, segments=table, rankings=rankings)

    def ablate(self, *, holdout: float = 0.1) -> Ablation:
        """An ablation study of the coupled matrices, and of the modes of times or circumstances.

        A share of the data that the model was fitted to is held out, and its settings are trained on the rest: with everything and
        without each part, each with two seeds. That takes as long as so many fits. A part that makes predictions worse is also
        told of by a warning. Ctrl-C keeps the parts that are known by then.

        Parameters
        ----------
        holdout : the share of the entries to compare by.

        >>> import s3cmtf
        >>> seen = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "day": [1, 2, 1, 2, 1], "stars": [5, 3, 2, 4, 1]}
        >>> model = s3cmtf.S3CMTF(rank=2, epochs=5).fit(seen, modes=["user", "film", "day"], value="stars")
        >>> list(model.ablate(holdout=0.4).parts["left_out"])
        ['day']
        """
        found = json.loads(_s3cmtf.ablate(self._fitted(), number("holdout", holdout)))
        for note in found.pop("notes"):
            warnings.warn(note, Note, stacklevel=2)
        parts = found.pop("parts")
        names = ("left_out", "rmse", "difference", "noise", "verdict")
        types = {name: object if name in ("left_out", "verdict") else np.float64 for name in names}
        columns = {name: np.array([part[name] for part in parts], dtype=types[name]) for name in names}
        return Ablation(**found, parts=frame(columns, self.__dict__.get("_library", "")))

    def _measure(self, X: Any, y: Any, clip: bool | None, more: Any) -> dict[str, Any]:
        run = self._fitted()
        table, heading = given(X, "X", y, self._headings(run))
        self._check_width(table, len(run.modes()), heading)
        found: dict[str, Any] = json.loads(_s3cmtf.evaluate(run, table.table, heading, switch(clip), more))
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """R^2, the coefficient of determination: 1 is a perfect prediction, 0 that of the mean."""
        found = self._measure(X, y, None, None)
        missed: float = found["errors"]["rmse"] ** 2
        if found["variance"] == 0.0:
            return 1.0 if missed == 0.0 else 0.0
        return float(1.0 - missed / found["variance"])

    def rmse(self, X: Any = None, y: Any = None) -> float:
        """The root mean squared error on entries; without any, that of training."""
        if X is None:
            self._fitted()
            return float(self.record_["summary"]["train_rmse"])
        return float(self._measure(X, y, False, None)["errors"]["rmse"])


def _type(name: str) -> Any:
    return {"entries": np.int64, "rmse": np.float64, "mae": np.float64}.get(name, object)
