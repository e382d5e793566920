"""A fitted model in a notebook: a small summary, and how its errors went down."""

from __future__ import annotations

from html import escape
from typing import Any

WIDTH, HEIGHT, MARGIN = 320, 90, 4


def page(name: str, rows: list[tuple[str, str]], curves: dict[str, list[float]]) -> str:
    """HTML of a table and a curve per list of errors."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(label)}</th><td style="text-align:left">{escape(text)}</td></tr>'
        for label, text in rows
    )
    return f"<div><strong>{escape(name)}</strong><table>{cells}</table>{curve(curves)}</div>"


def curve(curves: dict[str, list[float]]) -> str:
    """An inline SVG; nothing where there is nothing to draw."""
    drawn = {name: values for name, values in curves.items() if len(values) > 1}
    if not drawn:
        return ""
    numbers = [value for values in drawn.values() for value in values]
    low, high = min(numbers), max(numbers)
    lines = [_line(place, name, values, low, high) for place, (name, values) in enumerate(drawn.items())]
    title = f"RMSE over epochs, from {high:.4g} to {low:.4g}"
    return (
        f'<svg role="img" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{title}</title>{"".join(lines)}</svg>'
    )


def _line(place: int, name: str, values: list[float], low: float, high: float) -> str:
    across = (WIDTH - 2 * MARGIN) / (len(values) - 1)
    down = (HEIGHT - 2 * MARGIN) / ((high - low) or 1.0)
    points = " ".join(f"{MARGIN + at * across:.1f},{MARGIN + (high - value) * down:.1f}" for at, value in enumerate(values))
    style = 'stroke="currentColor"' if place == 0 else 'stroke="currentColor" stroke-dasharray="4 3"'
    return f'<polyline fill="none" {style} points="{points}"><title>{escape(name)}</title></polyline>'


def number(value: Any) -> str:
    """A number with the digits that matter."""
    return "" if value is None else f"{value:.5g}"
