"""Predictions, held against factors and core by NumPy, and against the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

import s3cmtf


def by_hand(model, places):
    """What the factors and the core say: the core along the row of each mode, in 64 bits."""
    part = model.core.astype(np.float64)
    rows = [model.factors[mode].astype(np.float64) for mode in model.modes_]
    values = []
    for cell in places:
        value = part
        for mode, place in reversed(list(enumerate(cell))):
            row = rows[mode].mean(axis=0) if place is None else rows[mode][place]
            value = value @ row if mode == len(cell) - 1 else np.tensordot(value, row, axes=(mode, 0))
        values.append(float(value))
    return np.array(values)


def places_of(model, frame):
    names = [list(map(str, model.names(mode))) for mode in model.modes_]
    keys = [frame["user"].astype(str), frame["film"], frame["date"].dt.strftime("%Y-%m")]
    return list(zip(*[[name.index(key) if key in name else None for key in column] for name, column in zip(names, keys)]))


def test_a_prediction_is_the_core_along_the_rows_of_its_cell(world, fitted):
    some = world.test.iloc[:200]
    expected = by_hand(fitted, places_of(fitted, some))
    assert np.abs(fitted.predict(some) - expected).max() < 1e-4


def test_an_entity_that_is_not_known_is_the_average_one(world, fitted):
    some = world.test.iloc[:5].assign(user=[100000 + n for n in range(5)])
    expected = by_hand(fitted, places_of(fitted, some))
    assert np.abs(fitted.predict(some) - expected).max() < 1e-4


def test_the_truth_is_found(world, fitted):
    truth = world.truth[5000:]
    assert np.sqrt(np.mean((fitted.predict(world.test) - truth) ** 2)) < 0.15
    assert fitted.score(world.test) > 0.85
    assert fitted.rmse(world.test) < 0.27
    # The noise of the world is 0.2.
    values, std = fitted.predict(world.test, return_std=True)
    stars = world.test["stars"].to_numpy()
    assert 0.55 < np.mean(np.abs(values - stars) < std) < 0.85


def test_score_and_rmse_are_what_numpy_says(world, fitted):
    stars = world.test["stars"].to_numpy()
    predicted = fitted.predict(world.test).astype(np.float64)
    missed = np.mean((predicted - stars) ** 2)
    assert fitted.rmse(world.test) == pytest.approx(np.sqrt(missed), rel=1e-5)
    assert fitted.score(world.test) == pytest.approx(1 - missed / stars.var(), rel=1e-5)
    cells = world.test[["user", "film", "date"]]
    assert fitted.score(cells, world.test["stars"]) == pytest.approx(fitted.score(world.test), rel=1e-9)
    assert fitted.rmse() == fitted.record_["summary"]["train_rmse"]
    assert fitted.history["test_rmse"].iloc[-1] == pytest.approx(fitted.rmse(world.test), rel=1e-4)


def test_clipped_predictions_stay_within_what_was_observed(world, fitted):
    cells = world.test[["user", "film", "date"]]
    plain, clipped = fitted.predict(cells), fitted.predict(cells, clip=True)
    stars = world.train["stars"]
    assert np.array_equal(clipped, np.clip(plain, np.float32(stars.min()), np.float32(stars.max())))


def test_the_command_comes_to_the_same_model_bit_for_bit(world, fitted, command, tmp_path):
    files = {name: tmp_path / f"{name}.csv" for name in ("train", "test", "genres")}
    for name, frame in (("train", world.train), ("test", world.test), ("genres", world.genres)):
        frame.to_csv(files[name], index=False)
    command(
        "fit",
        str(files["train"]),
        "--modes",
        "user,film,date:month",
        "--value",
        "stars",
        "--rank",
        "5",
        "--epochs",
        "30",
        "--seed",
        "3",
        "--couple",
        f"film={files['genres']}:film,genre,zeros",
        "--test",
        str(files["test"]),
        "--out",
        str(tmp_path / "model"),
        "--quiet",
    )
    other = s3cmtf.load(tmp_path / "model")
    assert np.array_equal(other.core, fitted.core)
    for mode in fitted.modes_:
        assert np.array_equal(other.factors[mode], fitted.factors[mode])
        assert list(other.names(mode)) == list(fitted.names(mode))
    assert np.array_equal(other.coupled["film/genre"].factor, fitted.coupled["film/genre"].factor)
    assert other.record_["params"] == fitted.record_["params"]
    # Only what was saved says what its data are known by.
    assert other.record_["data"].pop("kept")
    assert other.record_["data"] == fitted.record_["data"]
    assert np.array_equal(other.predict(world.test), fitted.predict(world.test))
    # And back: the command reads what Python saves.
    fitted.save(tmp_path / "again")
    errors = json.loads(command("evaluate", str(tmp_path / "again"), str(files["test"]), "--json"))
    assert errors["rmse"] == pytest.approx(fitted.rmse(world.test), rel=1e-6)


def test_every_door_to_held_out_entries(world):
    model = s3cmtf.S3CMTF(rank=3, epochs=3)
    for holdout in (0.1, ("last", "date", 0.2), ("leave", "user", 1)):
        model.fit(world.train, holdout=holdout, **world.words)
        assert model.record_["data"]["test_entries"] > 0
        assert model.record_["data"]["entries"] + model.record_["data"]["test_entries"] == len(world.train)
    with pytest.raises(ValueError, match="holdout should be a share"):
        model.fit(world.train, holdout=("first", "date", 0.2), **world.words)
    with pytest.raises(KeyError, match="there is no mode dat"):
        model.fit(world.train, holdout=("last", "dat", 0.2), **world.words)


def test_a_run_starts_from_another(world, fitted):
    more = s3cmtf.S3CMTF(epochs=1, seed=3).fit(world.train, init=fitted, **world.words)
    cold = s3cmtf.S3CMTF(rank=5, epochs=1, seed=3).fit(world.train, **world.words)
    assert more.core.shape == fitted.core.shape
    assert more.rmse() < cold.rmse()


def test_sgd_is_chosen_by_what_only_it_has(world):
    model = s3cmtf.S3CMTF(rank=3, nonnegative=True, epochs=5).fit(world.train, **world.words)
    assert model.record_["params"]["algorithm"] == "sgd"
    assert all((factor >= 0).all() for factor in model.factors.values())
    with pytest.raises(ValueError, match="has no standard deviations"):
        model.predict(world.test, return_std=True)


def test_an_interval_is_so_many_standard_deviations_around_the_prediction(world, fitted):
    values, std = fitted.predict(world.test, return_std=True)
    low, high = fitted.predict_interval(world.test, level=0.95)
    np.testing.assert_allclose(low, values - 1.959964 * std, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(high, values + 1.959964 * std, rtol=1e-3, atol=1e-3)
    assert np.mean((low <= world.test["stars"]) & (world.test["stars"] <= high)) > 0.9
    for level in (0, 1, 95, float("nan")):
        with pytest.raises(ValueError, match="the level of an interval should be above 0 and below 1"):
            fitted.predict_interval(world.test, level=level)
    with pytest.raises(TypeError, match="level should be a number"):
        fitted.predict_interval(world.test, level="most")
    exact = s3cmtf.S3CMTF(rank=2, epochs=3, algorithm="sgd").fit(world.train, **world.words)
    with pytest.raises(ValueError, match="no standard deviations"):
        exact.predict_interval(world.test)
