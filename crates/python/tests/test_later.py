"""What comes after a fit: more data, a search, copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import s3cmtf


def test_new_users_get_rows_and_all_else_stays(world):
    known = world.train[world.train["user"] < 240]
    new = world.train[world.train["user"] >= 240]
    model = s3cmtf.S3CMTF(rank=5, epochs=30).fit(known, **world.words)
    before = {mode: model.factors[mode].copy() for mode in model.modes_}
    cells = world.test[world.test["user"] >= 240]
    unknown = model.rmse(cells)
    model.fold_in(new)
    assert model.added_["user"] == new["user"].nunique() and model.added_["film"] == 0
    assert np.array_equal(model.factors["user"][: len(before["user"])], before["user"])
    assert np.array_equal(model.factors["film"], before["film"])
    assert model.rmse(cells) < 0.75 * unknown


def test_an_update_moves_what_has_new_entries_and_first_of_all_fits(world):
    half = len(world.train) // 2
    # Of half of the ratings and a rank of 5, which leaves no concept to spare, one seed in ten finds too little.
    model = s3cmtf.S3CMTF(rank=8, epochs=30).partial_fit(world.train.iloc[:half], **world.words)
    first = model.rmse(world.test)
    model.partial_fit(world.train.iloc[half:])
    assert model.updated_["user"] > 100
    assert model.rmse(world.test) < first
    assert model.record_["data"]["later_entries"] == len(world.train) - half


def test_new_films_are_known_by_their_genres(world):
    known = world.train[world.train["film"] != "Film 7"]
    couple = [s3cmtf.Coupled("film", world.genres[world.genres["film"] != "Film 7"], absent="zeros")]
    model = s3cmtf.S3CMTF(rank=5, epochs=30).fit(known, couple=couple, **world.words)
    cells = world.frame[world.frame["film"] == "Film 7"]
    unknown = model.rmse(cells)
    model.fold_in(couple=[s3cmtf.Coupled("film", world.genres[world.genres["film"] == "Film 7"], name="genre")])
    assert model.added_ == {"user": 0, "film": 1, "date": 0}
    assert model.rmse(cells) < unknown


def test_a_search_leaves_settings_and_says_what_it_tried(world):
    model = s3cmtf.S3CMTF(rank=2, epochs=10).tune(world.train, budget=4.0, **world.words)
    assert model.rank != 2 and len(model.trials_) > 1
    assert model.trials_["rmse"].min() < model.trials_["rmse"].iloc[0]
    simple = model.simple_errors_
    # In this world rows interact and have hardly any offsets.
    assert model.trials_["rmse"].min() < 0.9 * min(simple["offsets_rmse"], simple["mean_rmse"])
    assert abs(simple["offsets_rmse"] - simple["mean_rmse"]) < 0.01
    plain = s3cmtf.S3CMTF(rank=2, epochs=10).fit(world.train, **world.words)
    assert model.rmse(world.test) < plain.rmse(world.test)
    with pytest.raises(ValueError, match="budget"):
        model.tune(world.train, budget=-1.0, **world.words)


def test_a_search_tries_to_leave_out_what_does_harm(world):
    random = np.random.default_rng(3)
    films = [f"Film {place}" for place in range(60)]
    noise = pd.DataFrame({"film": np.repeat(films, 8), "what": np.tile(range(8), 60), "much": random.normal(0, 3, 480)})
    harm = s3cmtf.Coupled("film", noise, columns=["film", "what", "much"], weight=100.0)
    few = world.train.iloc[:1500]
    model = s3cmtf.S3CMTF(rank=4, epochs=30, algorithm="bayes")
    model.tune(few, couple=[harm], budget=60.0, refit=False, **world.words)
    rmses = model.trials_.set_index("change")["rmse"]
    # The first is the baseline, with it; settings that were found in between may be as good with it.
    assert rmses["without film/what"] < 0.7 * model.trials_["rmse"].iloc[0]
    assert len(model.couple_) <= 1 and harm.weight == 100.0


def test_pickles_and_copies_predict_the_same(world, fitted):
    for again in (pickle.loads(pickle.dumps(fitted)), copy.copy(fitted), copy.deepcopy(fitted)):
        assert np.array_equal(again.predict(world.test), fitted.predict(world.test))
        pd.testing.assert_frame_equal(again.recommend("user", 100, "film"), fitted.recommend("user", 100, "film"))
        assert again.get_params() == fitted.get_params()
        again.set_params(rank=2)
        assert fitted.rank == 5
    bare = pickle.loads(pickle.dumps(s3cmtf.S3CMTF(rank=4)))
    assert bare.rank == 4 and not hasattr(bare, "core_")


def test_a_notebook_shows_a_summary_and_the_curve(fitted):
    page = fitted._repr_html_()
    assert "user 150 x film 60 x date 6" in page and "5000" in page
    assert page.count("<polyline") == 2 and "RMSE over epochs" in page
    assert "<script" not in s3cmtf.S3CMTF(modes=["<script>"])._repr_html_()
