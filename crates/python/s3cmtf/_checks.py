"""Whether what was said can be meant, where the library could only say that it is of another type."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Iterable
from typing import Any

MOST = 2**63 - 1


def whole(name: str, said: Any, least: int = 0) -> int | None:
    """A whole number from ``least`` on, or None if nothing was said.

    >>> whole("n", 3)
    3
    >>> whole("n", -1)
    Traceback (most recent call last):
    ValueError: n should be a whole number, 0 or more, but is -1
    """
    if said is None:
        return None
    expected = f"{name} should be a whole number, {least} or more, but is {said!r}"
    try:
        number = operator.index(said)
    except TypeError:
        raise TypeError(expected) from None
    if not least <= number <= MOST:
        raise ValueError(expected)
    return number


def wholes(name: str, said: Any, least: int = 0) -> list[int] | None:
    """One whole number or several, or None if nothing was said.

    >>> wholes("n", 3), wholes("n", [1, 2])
    ([3], [1, 2])
    >>> wholes("n", [])
    Traceback (most recent call last):
    ValueError: n should be a whole number, 0 or more, or a list of such, but is []
    """
    if said is None:
        return None
    if isinstance(said, str) or not isinstance(said, Iterable):
        said = [said]
    found = [one for one in (whole(name, one, least) for one in said) if one is not None]
    if not found:
        raise ValueError(f"{name} should be a whole number, {least} or more, or a list of such, but is {said!r}")
    return found


def number(name: str, said: Any) -> float | None:
    """A number, or None if nothing was said."""
    if said is None:
        return None
    try:
        return float(said)
    except (TypeError, ValueError):
        raise TypeError(f"{name} should be a number, but is {said!r}") from None


def text(name: str, said: Any, example: str) -> str | None:
    """A text, or None if nothing was said."""
    if said is None or isinstance(said, str):
        return said
    raise TypeError(f"{name} should be a text such as {example!r}, but is {said!r}")


def switch(said: Any) -> bool | None:
    """Yes, no, or None if nothing was said."""
    return None if said is None else bool(said)


def hold_out(said: Any) -> Any:
    """A share, or which entries, that are held out."""
    if isinstance(said, (tuple, list)) and len(said) == 3 and said[0] in ("last", "leave"):
        kind, mode, much = said
        return (
            kind,
            str(mode),
            number("the share of holdout", much) if kind == "last" else whole("the count of holdout", much, 1),
        )
    if said is None or (isinstance(said, numbers.Real) and not isinstance(said, bool)):
        return None if said is None else float(said)
    raise ValueError(f'holdout should be a share, ("last", mode, share) or ("leave", mode, count), but is {said!r}')


def functions(name: str, said: Any) -> list[Callable[..., Any]]:
    """One function or several."""
    if callable(said):
        return [said]
    if said is None or (isinstance(said, Iterable) and not isinstance(said, str) and all(map(callable, said))):
        return list(said or [])
    raise TypeError(f"{name} should be a function or a list of functions, but is {said!r}")
