"""What is in a fitted model: factors, core, coupled matrices, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _s3cmtf
from ._columns import Kind
from ._frames import Table, frame, label, named
from ._parts import Array, CoupledFactor, Factors, place_of
from ._progress import Epoch


class Fitted:
    """The part of the estimator that has the parts of a model."""

    record_: dict[str, Any]

    if TYPE_CHECKING:

        def _fitted(self) -> _s3cmtf.Run: ...

    @property
    def factors(self) -> Factors:
        """The factor of each mode: ``model.factors["movie"]`` has a row per movie."""
        return Factors(self._fitted(), self.names, self.__dict__.get("_library", ""))

    def names(self, mode: str) -> Array:
        """The entities of a mode, in the order of its factor's rows."""
        place = place_of(self._fitted(), mode)
        return named(self._fitted().names(place), self._kind(place)[0])

    def _kind(self, mode: int) -> tuple[str | None, bool]:
        """What the entities of a mode were in the data, if that is known, and whether they were put together."""
        column = self._fitted().columns()[mode]
        if column is not None and column[1]:
            return "text", True
        kind: Kind | None = self.__dict__.get("_kinds", {}).get(self._fitted().modes()[mode])
        return None if kind is None else kind.of, False

    def _label(self, mode: int, entity: Any) -> str:
        """What the model calls an entity of a mode that somebody means."""
        kind, is_binned = self._kind(mode)
        return label(entity, None if is_binned else kind, is_binned)

    @property
    def core(self) -> Array:
        """The core: a number per combination of concepts; its diagonal where it is diagonal."""
        return self._fitted().core()

    core_ = core
    factors_ = factors

    @property
    def coupled(self) -> Mapping[str, CoupledFactor]:
        """The coupled matrices by name, such as ``model.coupled["movie/genre"]``."""
        modes, library = self._fitted().modes(), self.__dict__.get("_library", "")
        found = [
            CoupledFactor(name, modes[mode], kind, weight, explained, named(columns, None), factor, library)
            for name, mode, kind, weight, explained, columns, factor in self._fitted().coupled()
        ]
        return {matrix.name: matrix for matrix in found}

    coupled_ = coupled

    @property
    def history(self) -> Table:
        """Errors of each epoch, as a table. With ``patience``, ``validation_rmse`` is the error on the held-out entries."""
        self._fitted()
        epochs = [Epoch.of(epoch) for epoch in self.record_["history"]]
        columns = {name: [getattr(epoch, name) for epoch in epochs] for name in Epoch.__dataclass_fields__}
        return frame({name: _numbers(values) for name, values in columns.items()}, self.__dict__.get("_library", ""))

    history_ = history

    @property
    def validation_curve_(self) -> Array:
        """With ``patience``: the RMSE on the held-out entries, also after the best epoch, with which ``history`` ends."""
        self._fitted()
        return np.array(self.record_.get("validation", []), dtype=np.float64)


def _numbers(values: list[Any]) -> Array:
    return np.array([np.nan if value is None else value for value in values])
