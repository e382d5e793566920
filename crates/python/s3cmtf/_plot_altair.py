"""Pictures as Altair charts."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from ._plot import COLOURS, LONGEST, Bars, Heat, Lines, Panels, Picture, Points

CUT = f"length(datum.label) > {LONGEST} ? slice(datum.label, 0, {LONGEST - 1}) + '…' : datum.label"


def draw(picture: Picture) -> Any:
    """A chart of a picture."""
    if isinstance(picture, Panels):
        return alt.concat(*[_panel(panel) for panel in picture.panels], columns=2).resolve_scale(color="independent")
    if isinstance(picture, Lines):
        return _lines(picture, 480, 240)
    return _heat(picture) if isinstance(picture, Heat) else _points(picture)


def _rows(**columns: Any) -> alt.Data:
    names = list(columns)
    plain = [[value.item() if isinstance(value, np.generic) else value for value in column] for column in columns.values()]
    return alt.Data(values=[dict(zip(names, row, strict=True)) for row in zip(*plain, strict=True)])


def _title(text: str) -> Any:
    return alt.Title(text.split("\n"), anchor="start", fontSize=12) if text else alt.Undefined


def _panel(panel: Bars | Lines) -> Any:
    if isinstance(panel, Lines):
        return _lines(panel, 270, 110)
    data = _rows(name=panel.names, score=panel.values)
    axis = alt.Axis(labelExpr=CUT, labelLimit=170, title=None)
    return (
        alt.Chart(data, title=_title(panel.title))
        .mark_bar()
        .encode(
            x=alt.X("score:Q", title=None),
            y=alt.Y("name:N", sort=list(panel.names), axis=axis),
            color=alt.condition("datum.score < 0", alt.value(COLOURS[0]), alt.value(COLOURS[2])),
            tooltip=["name:N", alt.Tooltip("score:Q", format=".3f")],
        )
        .properties(width=180, height=14 * len(panel.names))
    )


def _lines(picture: Lines, width: int, height: int) -> Any:
    cells = [
        (place, line, float(value))
        for line, values in picture.lines.items()
        for place, value in zip(picture.across, values, strict=True)
        if np.isfinite(value)
    ]
    places, lines, values = zip(*cells, strict=True) if cells else ([], [], [])
    data = _rows(across=places, line=lines, value=values)
    counted = all(isinstance(place, int) for place in picture.across)
    axis = alt.Axis(title=picture.across_title, labelOverlap=True, labelAngle=0 if counted else -45, labelLimit=90)
    across = (
        alt.X("across:Q", axis=axis, scale=alt.Scale(zero=False, nice=False))
        if counted
        else alt.X("across:O", axis=axis, sort=list(picture.across))
    )
    legend = alt.Legend(title=None) if len(picture.lines) > 1 else None
    return (
        alt.Chart(data, title=_title(picture.title))
        .mark_line(point=len(picture.across) < 40)
        .encode(
            x=across,
            y=alt.Y("value:Q", title=picture.up_title, scale=alt.Scale(zero=False)),
            color=alt.Color("line:N", legend=legend, sort=list(picture.lines)),
            tooltip=[
                "line:N",
                alt.Tooltip(f"across:{'Q' if counted else 'O'}", title=picture.across_title),
                alt.Tooltip("value:Q", format=".5g"),
            ],
        )
        .properties(width=width, height=height)
    )


def _heat(picture: Heat) -> Any:
    pairs = [
        (row, column, float(picture.values[i, j]))
        for i, row in enumerate(picture.rows)
        for j, column in enumerate(picture.columns)
        if np.isfinite(picture.values[i, j])
    ]
    rows, columns, values = zip(*pairs, strict=True)
    most = max(abs(value) for value in values) or 1.0
    cell = max(18, min(44, 440 // max(len(picture.columns), len(picture.rows))))
    scale = alt.Scale(range=list(COLOURS), domain=[-most, 0, most])
    axis = {"labelLimit": 170, "labelFontSize": 10}
    return (
        alt.Chart(_rows(row=rows, column=columns, value=values), title=_title(picture.title))
        .mark_rect()
        .encode(
            x=alt.X(
                "column:N",
                sort=list(picture.columns),
                axis=alt.Axis(title=picture.column_title, labelAngle=-45, **axis),
            ),
            y=alt.Y("row:N", sort=list(picture.rows), axis=alt.Axis(title=picture.row_title, **axis)),
            color=alt.Color("value:Q", scale=scale, title=picture.value_title),
            tooltip=["row:N", "column:N", alt.Tooltip("value:Q", format=".3f")],
        )
        .properties(width=cell * len(picture.columns), height=cell * len(picture.rows))
    )


def _points(picture: Points) -> Any:
    groups = [picture.labels[group - 1] for group in picture.groups]
    data = _rows(name=picture.names, x=picture.places[:, 0], y=picture.places[:, 1], cluster=groups)
    scheme = "tableau10" if len(picture.labels) <= 10 else "tableau20"
    axis = alt.Axis(labels=False, ticks=False, title=None, grid=False)
    x, y = alt.X("x:Q", axis=axis), alt.Y("y:Q", axis=axis)
    legend = alt.Legend(title="cluster", labelLimit=230, symbolLimit=len(picture.labels))
    colour = alt.Color("cluster:N", sort=list(picture.labels), scale=alt.Scale(scheme=scheme), legend=legend)
    points = (
        alt.Chart(data, title=_title(picture.title))
        .mark_circle(size=36, opacity=0.7)
        .encode(x=x, y=y, color=colour, tooltip=["name:N", "cluster:N"])
    )
    numbers = _rows(x=picture.centres[:, 0], y=picture.centres[:, 1], number=list(range(1, len(picture.labels) + 1)))
    texts = alt.Chart(numbers).mark_text(fontWeight="bold", fontSize=14, stroke="white", strokeWidth=3)
    over = alt.Chart(numbers).mark_text(fontWeight="bold", fontSize=14)
    place = {"x": x, "y": y, "text": "number:N"}
    return (points + texts.encode(**place) + over.encode(**place)).properties(width=420, height=340)
