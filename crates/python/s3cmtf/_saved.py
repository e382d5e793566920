"""A model in a folder, in a pickle, as a copy, and in a notebook."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from . import _html, _s3cmtf
from ._columns import Kind

if TYPE_CHECKING:
    from ._parts import Factors

Self = TypeVar("Self", bound="Saved")

KINDS = "python.json"
"""The file beside a model that says what its ids were: texts of digits, numbers, categories."""


class Saved:
    """The part of the estimator that keeps and shows a fitted model."""

    _run: _s3cmtf.Run
    _kinds: dict[str, Kind | None]
    _library: str
    record_: dict[str, Any]

    if TYPE_CHECKING:

        def _fitted(self) -> _s3cmtf.Run: ...

        @property
        def factors(self) -> Factors: ...

    def save(self, folder: str | os.PathLike[str], *, data: bool = True) -> None:
        """Saves the model as a folder, with the data of training if it has them, as the command does.

        >>> import os, tempfile, s3cmtf
        >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
        >>> model = s3cmtf.S3CMTF(rank=2, epochs=3).fit(films, modes=["user", "film"], value="stars")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "model"))
        ...     again = s3cmtf.load(os.path.join(folder, "model"))
        >>> bool((again.core == model.core).all())
        True
        """
        self._fitted().save(os.fspath(folder), data)
        if "_kinds" in self.__dict__:
            kinds = {mode: None if kind is None else [kind.of, kind.is_category] for mode, kind in self._kinds.items()}
            said = {"fingerprint": self.record_["data"]["fingerprint"], "library": self._library, "kinds": kinds}
            Path(folder, KINDS).write_text(json.dumps(said), encoding="utf-8")

    def _load_kinds(self, folder: str | os.PathLike[str]) -> None:
        """What ids were in the data, if it was Python that saved this model: the library knows their names alone."""
        try:
            said = json.loads(Path(folder, KINDS).read_text(encoding="utf-8"))
            # A file of Python stays where the command has put another model.
            if said["fingerprint"] != self.record_["data"]["fingerprint"]:
                return
            self._kinds = {mode: None if kind is None else Kind(*kind) for mode, kind in said["kinds"].items()}
            self._library = said["library"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return

    def export(self, folder: str | os.PathLike[str], to: str = "parquet") -> list[str]:
        """Writes core and factors with their names for other programs: ``to`` parquet, csv, npz or safetensors.

        >>> import os, tempfile, s3cmtf
        >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
        >>> model = s3cmtf.S3CMTF(rank=2, epochs=3).fit(films, modes=["user", "film"], value="stars")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [os.path.basename(file) for file in model.export(os.path.join(folder, "tables"), "csv")]
        ['factor.user.csv', 'factor.film.csv', 'core.csv']
        """
        return [os.fspath(file) for file in self._fitted().export(os.fspath(folder), to)]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        run = state.pop("_run", None)
        if run is not None:
            with tempfile.TemporaryDirectory() as folder:
                run.save(os.path.join(folder, "model"), True)
                state["_files"] = {path.name: path.read_bytes() for path in sorted(Path(folder, "model").iterdir())}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop("_files", None)
        self.__dict__.update(state)
        if files is not None:
            with tempfile.TemporaryDirectory() as folder:
                for name, content in files.items():
                    Path(folder, name).write_bytes(content)
                self._run = _s3cmtf.load(folder)

    def __copy__(self: Self) -> Self:
        other = type(self).__new__(type(self))
        # A run is never changed, only replaced.
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(
            {name: value if name == "_run" else copy.deepcopy(value, memo) for name, value in self.__dict__.items()}
        )
        return other

    def __sklearn_is_fitted__(self) -> bool:
        return "_run" in self.__dict__

    def _repr_html_(self) -> str:
        if "_run" not in self.__dict__:
            return _html.page(repr(self), [], {})
        summary, data = self.record_["summary"], self.record_["data"]
        sizes = [f"{mode} {factor.shape[0]}" for mode, factor in self.factors.items()]
        rows = [
            ("modes", " x ".join(sizes)),
            ("entries", str(data["entries"])),
            ("epochs", f"{summary['epochs']} ({summary['stop']})"),
            ("train RMSE", _html.number(summary["train_rmse"])),
            ("test RMSE", _html.number(summary["test_rmse"])),
            ("mean RMSE", _html.number(summary["mean_rmse"])),
            ("offsets RMSE", _html.number(summary["offsets_rmse"])),
            ("seconds", _html.number(summary["seconds"])),
        ]
        history = self.record_["history"]
        curves = {
            name: [epoch[name] for epoch in history if epoch.get(name) is not None]
            for name in ("train_rmse", "test_rmse", "validation_rmse")
        }
        return _html.page(repr(self), [row for row in rows if row[1]], curves)
