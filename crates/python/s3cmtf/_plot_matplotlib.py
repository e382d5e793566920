"""Pictures as matplotlib figures."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib import colormaps, patheffects
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ._plot import COLOURS, Bars, Heat, Lines, Panels, Picture, Points, cut

MARKS = 12
"""No more marks on an axis of names."""


class NotebookFigure(Figure):
    """A figure that a notebook shows though pyplot, which would show it a second time, knows nothing of it."""

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=96)
        return out.getvalue()


def draw(picture: Picture) -> Figure:
    """A figure of a picture."""
    if isinstance(picture, Panels):
        return _panels(picture)
    if isinstance(picture, Lines):
        figure = NotebookFigure(figsize=(6.5, 3.2), layout="constrained")
        _lines(figure.add_subplot(), picture)
        return figure
    return _heat(picture) if isinstance(picture, Heat) else _points(picture)


def _panels(picture: Panels) -> Figure:
    count = len(picture.panels)
    tallest = max((len(panel.names) if isinstance(panel, Bars) else 8 for panel in picture.panels), default=1)
    down = (count + 1) // 2
    figure = NotebookFigure(figsize=(8.5, max(1, down) * (0.19 * tallest + 0.9)), layout="constrained")
    for place, panel in enumerate(picture.panels):
        axes = figure.add_subplot(down, min(2, count), place + 1)
        if isinstance(panel, Bars):
            _bars(axes, panel)
        else:
            _lines(axes, panel)
    return figure


def _bars(axes: Any, panel: Bars) -> None:
    places = np.arange(len(panel.names))
    colours = [COLOURS[0] if value < 0 else COLOURS[2] for value in panel.values]
    axes.barh(places, panel.values, color=colours)
    axes.set_yticks(places, [cut(name) for name in panel.names], fontsize=8, parse_math=False)
    axes.invert_yaxis()
    axes.set_title(panel.title, fontsize=9, loc="left", parse_math=False)
    axes.tick_params(axis="x", labelsize=8)


def _lines(axes: Any, picture: Lines) -> None:
    places = np.arange(len(picture.across))
    counted = all(isinstance(place, int) for place in picture.across)
    for name, values in picture.lines.items():
        axes.plot(picture.across if counted else places, values, marker="." if len(places) < 40 else "", label=name)
    if not counted:
        shown = places[:: max(1, -(-len(places) // MARKS))]
        axes.set_xticks(shown, [cut(str(picture.across[place]), 12) for place in shown], rotation=45, ha="right", fontsize=8)
    axes.set_xlabel(picture.across_title)
    axes.set_ylabel(picture.up_title)
    axes.set_title(picture.title, fontsize=9, loc="left", parse_math=False)
    if len(picture.lines) > 1:
        axes.legend(frameon=False)


def _heat(picture: Heat) -> Figure:
    rows, columns = picture.values.shape
    cell = max(0.24, min(0.5, 5.0 / max(rows, columns)))
    figure = NotebookFigure(figsize=(cell * columns + 3.2, cell * rows + 2.0), layout="constrained")
    axes = figure.add_subplot()
    most = float(np.nanmax(np.abs(picture.values))) or 1.0
    drawn = axes.imshow(picture.values, cmap=LinearSegmentedColormap.from_list("signed", COLOURS), vmin=-most, vmax=most)
    axes.set_xticks(np.arange(columns), list(picture.columns), rotation=45, ha="right", fontsize=8, parse_math=False)
    axes.set_yticks(np.arange(rows), list(picture.rows), fontsize=8, parse_math=False)
    axes.set_xlabel(picture.column_title)
    axes.set_ylabel(picture.row_title)
    axes.set_title(picture.title, fontsize=9, loc="left", parse_math=False)
    figure.colorbar(drawn, ax=axes, label=picture.value_title, shrink=0.8)
    return figure


def _points(picture: Points) -> Figure:
    figure = NotebookFigure(figsize=(8.0, 4.4), layout="constrained")
    axes = figure.add_subplot()
    colours = colormaps["tab10" if len(picture.labels) <= 10 else "tab20"]
    for place, label in enumerate(picture.labels):
        own = picture.places[picture.groups == place + 1]
        axes.scatter(own[:, 0], own[:, 1], s=12, alpha=0.7, color=colours(place % colours.N), label=label)
        x, y = picture.centres[place]
        halo = [patheffects.withStroke(linewidth=3, foreground="white")]
        axes.text(x, y, str(place + 1), fontweight="bold", ha="center", va="center", path_effects=halo)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(picture.title, fontsize=9, loc="left", parse_math=False)
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, title="cluster")
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure
