"""Parameters in the way of scikit-learn, which need not be there."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

Self = TypeVar("Self", bound="Parameters")


class Parameters:
    """An estimator whose constructor does nothing but keep what it was given."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        >>> import s3cmtf
        >>> s3cmtf.S3CMTF(rank=12).get_params()["rank"]
        12
        """
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Sets parameters by name.

        >>> import s3cmtf
        >>> s3cmtf.S3CMTF().set_params(epochs=3).epochs
        3
        """
        names = self._get_param_names()
        for name, value in params.items():
            if name not in names:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {names!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = {name: parameter.default for name, parameter in inspect.signature(type(self).__init__).parameters.items()}
        said = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not usual[name]]
        return f"{type(self).__name__}({', '.join(said)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(),
            # Columns are ids: texts and times as well as numbers.
            input_tags=InputTags(string=True, categorical=True),
        )


PARAMETER = {"core": "core_kind", "threads": "n_threads"}
"""Parameters that do not have the library's name: `core` is the fitted core, and threads are counted as elsewhere in Python."""


def parameters(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of the library by the names that they have here."""
    said = {PARAMETER.get(name, name): value for name, value in settings.items() if name != "ranks"}
    ranks = settings.get("ranks")
    if ranks == "auto":
        said |= {"rank": "auto", "ranks": None}
    elif ranks is not None:
        said |= {"rank": ranks[0], "ranks": None} if len(ranks) == 1 else {"rank": None, "ranks": ranks}
    return said
