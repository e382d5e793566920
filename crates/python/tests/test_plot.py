"""What pictures show, held against the numbers of the model, by both libraries that draw."""

from __future__ import annotations

import json

import matplotlib
import numpy as np
import pandas as pd
import pytest

import s3cmtf

PNG = b"\x89PNG\r\n\x1a\n"


def rows(chart) -> list[list[dict]]:
    """The data of each part of an Altair chart, in the order of the parts."""
    found = json.loads(chart.to_json())

    def values(part):
        data = part.get("data") or {}
        own = data.get("values") or found.get("datasets", {}).get(data.get("name"))
        inner = [one for key in ("layer", "concat") for one in part.get(key, [])]
        return ([own] if own is not None else []) + [some for one in inner for some in values(one)]

    return values(found)


def test_the_history_has_a_line_for_training_and_one_for_the_test(fitted):
    (data,) = rows(fitted.plot.history(backend="altair"))
    drawn = pd.DataFrame(data).pivot(index="across", columns="line", values="value")
    assert np.allclose(drawn["training"], fitted.history["train_rmse"])
    assert np.allclose(drawn["test"], fitted.history["test_rmse"])
    (axes,) = fitted.plot.history(backend="matplotlib").axes
    training, test = axes.get_lines()
    assert (training.get_label(), test.get_label()) == ("training", "test")
    assert np.allclose(training.get_ydata(), fitted.history["train_rmse"])
    assert np.allclose(test.get_ydata(), fitted.history["test_rmse"])
    assert axes.get_xlabel() == "epoch" and axes.get_ylabel() == "RMSE"


def test_a_run_without_a_test_has_one_line(world):
    model = s3cmtf.S3CMTF(rank=2, epochs=3).fit(world.train, **world.words)
    assert {row["line"] for row in rows(model.plot.history(backend="altair"))[0]} == {"training"}
    assert len(model.plot.history(backend="matplotlib").axes[0].get_lines()) == 1


def test_concepts_have_bars_for_the_entities_at_both_ends(fitted):
    found = fitted.concepts("film", n=3)
    panels = rows(fitted.plot.concepts("film", most=2, n=3, backend="altair"))
    figure = fitted.plot.concepts("film", most=2, n=3, backend="matplotlib")
    assert len(panels) == len(figure.axes) == 2
    names = list(fitted.names("film"))
    for place, (panel, axes) in enumerate(zip(panels, figure.axes)):
        concept = found.described[place]
        wanted = [one["name"] for one in concept["strongest"]] + [one["name"] for one in reversed(concept["weakest"])]
        assert [row["name"] for row in panel] == wanted
        own = [found.scores["film"][names.index(name), place] for name in wanted]
        assert np.allclose([row["score"] for row in panel], own, rtol=1e-5)
        assert np.allclose([bar.get_width() for bar in axes.patches], own, rtol=1e-5)
        assert [label.get_text() for label in axes.get_yticklabels()] == wanted
        assert axes.get_title(loc="left").startswith(f"{concept['name']}, {concept['strength']:.0%}")


def test_concepts_of_times_are_lines(fitted):
    concept = fitted.concepts("date").described[0]
    panel = rows(fitted.plot.concepts("date", backend="altair"))[0]
    assert [row["across"] for row in panel] == [f"2017-{month:02}" for month in range(1, 7)]
    assert np.allclose([row["value"] for row in panel], [time["score"] for time in concept["times"]])
    line = fitted.plot.concepts("date", backend="matplotlib").axes[0].get_lines()[0]
    assert np.allclose(line.get_ydata(), [time["score"] for time in concept["times"]])


def test_the_core_says_what_pairs_of_concepts_add(fitted):
    found = fitted.concepts()
    # The mean month comes first among the months, as the mean film and the mean user do.
    wanted = found.core[:, :, 0].astype(float)
    (data,) = rows(fitted.plot.core(backend="altair"))
    assert len(data) == wanted.size - 1, "the mean of all is left out"
    values = {(row["row"].split()[0], row["column"].split()[0]): row["value"] for row in data}
    users, films = found.core_names["user"], found.core_names["film"]
    for i, user in enumerate(users):
        for j, film in enumerate(films):
            assert (i, j) == (0, 0) or values[user, film] == pytest.approx(wanted[i, j], abs=1e-5)
    axes = fitted.plot.core("film", "user", backend="matplotlib").axes[0]
    drawn = np.asarray(axes.get_images()[0].get_array(), dtype=float)
    there = np.isfinite(np.ma.filled(axes.get_images()[0].get_array().astype(float), np.nan))
    assert drawn.shape == wanted.T.shape and not there[0, 0] and there.sum() == wanted.size - 1
    assert np.allclose(drawn[there], wanted.T[there], atol=1e-5)
    assert axes.get_xlabel() == "user" and axes.get_ylabel() == "film"
    with pytest.raises(ValueError, match="rows and columns should be two modes, but both are film"):
        fitted.plot.core("film", "film")


def test_what_a_pair_adds_is_what_predictions_say(world, fitted):
    """The row of the mean: what 1 more of a film's concept adds for the mean user in the mean month."""
    found = fitted.concepts()
    films, users, months = (found.scores[mode].astype(float) for mode in ("film", "user", "date"))
    whole = [np.column_stack([np.ones(len(scores)), scores]) for scores in (users, films, months)]
    every = np.einsum("abc,ia,jb,kc->ijk", found.core.astype(float), *whole)
    cells = pd.MultiIndex.from_product([fitted.names("user"), fitted.names("film"), fitted.names("date")]).to_frame(False)
    cells.columns = ["user", "film", "date"]
    cells["date"] = pd.to_datetime(cells["date"])
    assert np.allclose(fitted.predict(cells), every.reshape(-1), atol=1e-3)


def test_a_core_of_parts_that_add_up_has_no_mean(world):
    model = s3cmtf.S3CMTF(rank=3, epochs=5, nonnegative=True, seed=1).fit(world.train, **world.words)
    found = model.concepts()
    assert "mean" not in found.core_names["film"]
    months = found.scores["date"].mean(axis=0)
    wanted = np.einsum("abc,c->ab", found.core, months)
    drawn = model.plot.core(backend="matplotlib").axes[0].get_images()[0].get_array()
    assert np.allclose(drawn, wanted, atol=1e-4)


def test_clusters_are_a_map_with_a_point_for_every_entity(fitted):
    found = fitted.clusters("film", 4)
    assert found.map.shape == (60, 2) and found.gap is None and fitted.clusters("film").gap["k"] > 1
    points, numbers, _ = rows(fitted.plot.clusters("film", 4, backend="altair"))
    assert [row["name"] for row in points] == list(fitted.names("film"))
    assert [int(row["cluster"].split(":")[0]) for row in points] == found.labels.tolist()
    assert np.allclose([[row["x"], row["y"]] for row in points], found.map)
    first = found.described[0]
    marks = ", ".join(column["name"] for column in first["marks"][0]["columns"][:2])
    assert f"1: {marks} ({first['size']})" in {row["cluster"] for row in points}
    assert np.allclose([numbers[0]["x"], numbers[0]["y"]], found.map[found.labels == 1].mean(axis=0))
    axes = fitted.plot.clusters("film", 4, backend="matplotlib").axes[0]
    assert len(axes.collections) == 4
    for place, dots in enumerate(axes.collections):
        assert np.allclose(dots.get_offsets(), found.map[found.labels == place + 1])
    # Films of a cluster lie near to each other: the map is one of what they are like.
    inside = np.mean([found.map[found.labels == number].std(axis=0).sum() for number in range(1, 5)])
    assert inside < 0.5 * found.map.std(axis=0).sum()


def test_a_large_map_has_some_of_the_points_and_says_so(fitted, monkeypatch):
    from s3cmtf import _plot

    monkeypatch.setattr(_plot, "POINTS", 20)
    chart = fitted.plot.clusters("film", 4, backend="altair")
    assert len(rows(chart)[0]) == 20 and "20 of 60" in chart.to_json()


def test_long_names_are_cut_and_odd_ones_are_drawn(tmp_path):
    films = [f"A very long title of a film, the part with number {part}" for part in range(6)] + ["$x^{2$", "a_b\\c", "<b>"]
    random = np.random.default_rng(1)
    data = pd.DataFrame({"user": random.integers(0, 20, 300), "film": random.choice(films, 300)})
    data["stars"] = random.normal(3, 1, 300)
    model = s3cmtf.S3CMTF(rank=2, epochs=5, duplicates="mean").fit(data, modes=["user", "film"], value="stars")
    for name, figure in pictures(model, "film", "matplotlib").items():
        figure.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(PNG)
    labels = model.plot.concepts("film", n=5, backend="matplotlib").axes[0].get_yticklabels()
    assert any(label.get_text() == "A very long title of a film…" for label in labels)
    # Two long names that begin alike have a bar each.
    panel = rows(model.plot.concepts("film", n=9, backend="altair"))[0]
    assert len({row["name"] for row in panel}) == len(panel) == 9


def pictures(model, mode: str, backend: str) -> dict:
    plot = model.plot
    return {
        "history": plot.history(backend=backend),
        "concepts": plot.concepts(mode, backend=backend),
        "core": plot.core(backend=backend),
        "clusters": plot.clusters(mode, backend=backend),
    }


@pytest.mark.parametrize("mode", ["film", "date"])
def test_pictures_can_be_saved(fitted, tmp_path, mode):
    for name, chart in pictures(fitted, mode, "altair").items():
        chart.save(tmp_path / f"{name}.html")
        page = (tmp_path / f"{name}.html").read_text()
        assert "vegaEmbed" in page
        chart.save(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(PNG)
    for figure in pictures(fitted, mode, "matplotlib").values():
        assert figure._repr_png_().startswith(PNG)
        width, height = figure.get_size_inches()
        assert width <= 9 and height <= 9


def test_the_library_is_chosen_by_what_is_installed(fitted, monkeypatch):
    import importlib.util

    from s3cmtf import _plot

    assert type(fitted.plot.history()).__module__.startswith("altair")
    real = importlib.util.find_spec
    absent = {"altair"}
    monkeypatch.setattr(_plot.importlib.util, "find_spec", lambda name: None if name in absent else real(name))
    assert isinstance(fitted.plot.history(), matplotlib.figure.Figure)
    with pytest.raises(ImportError, match="altair is not installed: pip install altair"):
        fitted.plot.history(backend="altair")
    absent.add("matplotlib")
    with pytest.raises(ImportError, match="plots need altair or matplotlib: pip install altair, or pip install matplotlib"):
        fitted.plot.history()
    with pytest.raises(ValueError, match='backend should be "altair" or "matplotlib", but is \'plotly\''):
        fitted.plot.history(backend="plotly")


def test_a_model_that_is_not_fitted_has_no_pictures():
    with pytest.raises(s3cmtf.NotFittedError):
        s3cmtf.S3CMTF().plot  # noqa: B018
