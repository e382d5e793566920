"""Parameters in the way of scikit-learn, which need not be there."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

import numpy as np

Self = TypeVar("Self", bound="Parameters")


SYNONYMS = {
    "random_state": "seed",
    "n_jobs": "n_threads",
    "threads": "n_threads",
    "num_threads": "n_threads",
    "factors": "rank",
    "n_factors": "rank",
    "n_components": "rank",
    "k": "rank",
    "iterations": "epochs",
    "n_iter": "epochs",
    "max_iter": "epochs",
    "n_epochs": "epochs",
    "lr": "rate",
    "learning_rate": "rate",
    "reg": "lambda_reg",
    "regularization": "lambda_reg",
    "alpha": "lambda_reg",
    "tol": "tolerance",
    "early_stopping": "patience",
    "core": "core_kind",
    "callback": "callbacks",
    "target": "value",
}
"""What other libraries call parameters. They are not taken: an estimator has a parameter by one name, or it could not be cloned."""

Words = ParamSpec("Words")


def hint(name: str, names: Iterable[str]) -> str:
    """What an unknown parameter may be called here, as the end of a message."""
    near = difflib.get_close_matches(name, list(names), 1)
    ours = SYNONYMS.get(name) or (near[0] if near else None)
    return "" if ours is None else f": it is {ours} here" if name in SYNONYMS else f": did you mean {ours}?"


def with_our_names(init: Callable[Words, None]) -> Callable[Words, None]:
    """The constructor, saying what a parameter is called here that goes by another name elsewhere."""
    names = list(inspect.signature(init).parameters)

    @functools.wraps(init)
    def checked(*args: Words.args, **words: Words.kwargs) -> None:
        for name in words:
            if name not in names:
                raise TypeError(f"there is no parameter {name!r}{hint(name, names)}")
        init(*args, **words)

    return checked


def usual(estimator: type) -> dict[str, Any]:
    """The parameters of an estimator as they are by default."""
    return {name: parameter.default for name, parameter in inspect.signature(estimator.__init__).parameters.items()}  # type: ignore[misc]


def is_same(said: Any, default: Any) -> bool:
    """Whether a parameter is what it is by default; what cannot be compared is not."""
    if said is None or said is default:
        return True
    if default is None or isinstance(said, bool) != isinstance(default, bool):
        return False
    if isinstance(default, tuple):
        return isinstance(said, (tuple, list)) and tuple(said) == default
    return np.ndim(said) == 0 and bool(said == default)


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
                words = f"Invalid parameter {name!r} for estimator {self!r}{hint(name, names)}."
                raise ValueError(f"{words} Valid parameters are: {names!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = usual(type(self))
        said = [f"{name}={value!r}" for name, value in self.get_params().items() if not is_same(value, defaults[name])]
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
