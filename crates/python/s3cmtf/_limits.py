"""How much memory files may take."""

from __future__ import annotations

from . import _s3cmtf
from ._checks import whole


def limit_memory(memory: int | str | None) -> None:
    """Refuses files from now on whose tables would take more than this much memory, as ``--memory`` does in the command.

    Without this, and with None, the limit is the memory of the machine, or of the group of processes that this is one of. A small
    file may ask for more than that: a few bytes can be unpacked to many. A table counts four times, since it is numbered,
    sorted and merged. The limit holds for the process; data that are in memory already are not held against it.

    Parameters
    ----------
    memory : a size such as ``"800MB"`` or ``"8GB"``, a number of bytes, or None.

    >>> import s3cmtf
    >>> s3cmtf.limit_memory("64GB")
    >>> s3cmtf.limit_memory(None)
    """
    if not isinstance(memory, str):
        return _s3cmtf.limit_memory(whole("memory", memory, 1))
    try:
        bytes = _s3cmtf.parse_size(memory)
    except ValueError as error:
        raise ValueError(f"memory {error}, but is {memory!r}") from None
    return _s3cmtf.limit_memory(bytes)
