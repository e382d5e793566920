"""What can go wrong, beside what Python has names for."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache


class UnknownName(KeyError):
    """Nothing goes by the name that was given: no mode, entity or column.

    >>> str(UnknownName("there is no mode moive"))
    'there is no mode moive'
    """

    def __str__(self) -> str:
        # A KeyError shows its key, which is not what this has.
        return str(self.args[0]) if self.args else ""


class Note(UserWarning):
    """A note about the data: which columns were inferred, which ids occur on one side only."""


@cache
def not_fitted_error() -> type[Exception]:
    """The error of a model that has not been fitted: scikit-learn's where that is installed."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return OwnNotFittedError
    found: type[Exception] = NotFittedError
    return found


class OwnNotFittedError(ValueError, AttributeError):
    """A model has not been fitted."""


def tell(notes: Iterable[str]) -> None:
    """Warns of each note, at the place of whoever has called the estimator."""
    for note in notes:
        warnings.warn(note, Note, stacklevel=4)
