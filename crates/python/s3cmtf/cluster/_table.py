"""Where the time of a run went."""

from __future__ import annotations

from typing import Any


def table(usage: list[dict[str, Any]]) -> str:
    """Seconds and bytes of each worker, and which of them the others waited for."""
    rows = [["worker", "seconds", "loading", "computing", "exchange", "sent", "received", "memory"]]
    for one in usage:
        computing = one["seconds"] - one["exchange_seconds"]
        seconds = [one["seconds"], one["loading_seconds"], computing, one["exchange_seconds"]]
        sizes = [one["sent"], one["received"], one["memory"]]
        rows.append([str(one["node"] + 1), *(f"{number:.1f}" for number in seconds), *map(size, sizes)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    # Who waits least for the others is the one that they wait for.
    slowest = min(usage, key=lambda one: one["exchange_seconds"])["node"] + 1
    if len(usage) > 1:
        lines.append(f"The others waited for worker {slowest}: it has the least seconds in the exchange.")
    return "\n".join(lines)


def size(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
