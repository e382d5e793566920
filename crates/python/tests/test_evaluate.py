"""How good a model is: held against NumPy and against the command."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import s3cmtf


def test_errors_are_those_of_the_predictions(world, fitted):
    found = fitted.evaluate(world.test)
    missed = fitted.predict(world.test) - world.test["stars"].to_numpy()
    assert found.rmse == pytest.approx(np.sqrt(np.mean(missed**2)), rel=1e-5)
    assert found.mae == pytest.approx(np.mean(np.abs(missed)), rel=1e-5)
    assert (found.entries, found.unknown) == (len(world.test), 0) and 0.4 < found.within_std < 0.95
    by = found.segments[(found.segments["mode"] == "user")]
    assert by["entries"].sum() == len(world.test)
    seen = world.test["user"].map(world.train["user"].value_counts()).fillna(0)
    few = (seen >= 6) & (seen <= 20)
    if few.any():
        row = by[by["segment"] == "6-20"].iloc[0]
        assert row["entries"] == few.sum()
        assert row["rmse"] == pytest.approx(np.sqrt(np.mean(missed[few.to_numpy()] ** 2)), rel=1e-5)
    assert set(found.segments["by"]) == {"entries in training", "time"}
    other = fitted.evaluate(world.test.drop(columns="stars"), world.test["stars"])
    assert other.rmse == found.rmse


def test_simple_predictions_stand_beside_the_model(world, fitted):
    found = fitted.evaluate(world.test)
    known = world.train["stars"]
    plain = np.sqrt(np.mean((world.test["stars"] - known.mean()) ** 2))
    assert found.mean_rmse == pytest.approx(plain, rel=1e-5)
    assert found.rmse < found.offsets_rmse < found.mean_rmse
    model = s3cmtf.S3CMTF(rank=5, epochs=30, seed=3).fit(world.train, eval_set=world.test, **world.words)
    summary = model.record_["summary"]
    assert summary["offsets_rmse"] == pytest.approx(found.offsets_rmse, rel=1e-5)
    assert "offsets RMSE" in model._repr_html_()
    assert pickle.loads(pickle.dumps(model)).evaluate(world.test).offsets_rmse == model.evaluate(world.test).offsets_rmse


def test_a_model_that_is_no_better_than_offsets_is_told_of():
    random = np.random.default_rng(5)
    users, films = random.integers(0, 60, 3000), random.integers(0, 40, 3000)
    stars = 3 + random.normal(size=60)[users] + random.normal(size=40)[films] + random.normal(size=3000)
    cells = np.column_stack([users, films])
    words = {"algorithm": "sgd", "rank": 8, "lambda_reg": 0.0, "epochs": 60}
    with pytest.warns(s3cmtf.Note, match="not below that of offsets alone"):
        model = s3cmtf.S3CMTF(**words).fit(cells[:2000], stars[:2000], eval_set=(cells[2000:], stars[2000:]))
    with pytest.warns(s3cmtf.Note, match="the mean and an offset per"):
        model.evaluate(cells[2000:], stars[2000:])


def test_it_is_what_the_command_says(world, fitted, tmp_path, command):
    fitted.save(tmp_path / "model")
    world.test.to_csv(tmp_path / "test.csv", index=False)
    for words, more in [
        ({}, []),
        (
            {"k": 3, "relevant": 3.5, "caution": 1.0, "rank_by": "film", "items": "user"},
            ["--k", "3", "--relevant", "3.5", "--caution", "1", "--rank-by", "film", "--items", "user"],
        ),
        ({"items": "user", "clip": True}, ["--items", "user", "--clip"]),
    ]:
        told = json.loads(command("evaluate", str(tmp_path / "model"), str(tmp_path / "test.csv"), "--json", *more))
        found = fitted.evaluate(world.test, **words)
        assert found.ranking == told["ranking"]
        assert found.rmse == told["rmse"] and found.mae == told["mae"] and found.within_std == told["within_std"]
        assert (found.mean_rmse, found.offsets_rmse) == (told["mean_rmse"], told["offsets_rmse"])
        rows = [segment for one in told["segments"] for segment in one["segments"]]
        assert found.segments["segment"].tolist() == [row["name"] for row in rows]
        assert found.segments["rmse"].tolist() == [row["rmse"] for row in rows]


def test_several_lengths_are_measured_as_each_alone(world, fitted):
    found = fitted.evaluate(world.test, k=[3, 10], baselines=True)
    each = [fitted.evaluate(world.test, k=k, baselines=True) for k in (3, 10)]
    assert found.rankings == tuple(one.ranking for one in each)
    assert found.ranking == each[0].ranking and each[0].rankings == (each[0].ranking,)
    assert fitted.evaluate(world.test, k=np.array([3, 10])).rankings[1]["k"] == 10
    for wrong in ([], [5, 0], 0):
        with pytest.raises(ValueError, match="k should be a whole number, 1 or more"):
            fitted.evaluate(world.test, k=wrong)
    for wrong in ("many", [2.5]):
        with pytest.raises(TypeError, match="k should be a whole number, 1 or more"):
            fitted.evaluate(world.test, k=wrong)


def test_what_cannot_be_measured_is_said(world, fitted):
    with pytest.warns(s3cmtf.Note, match="nothing to rank by"):
        found = fitted.evaluate(world.train)
    assert found.ranking is None and found.rmse == pytest.approx(fitted.rmse(), rel=0.05)
    with pytest.raises(ValueError, match="nothing to rank by"):
        fitted.evaluate(world.train, k=5)
    with pytest.raises(KeyError, match="there is no mode flim"):
        fitted.evaluate(world.test, items="flim")
    with pytest.raises(ValueError, match="caution should be a number, 0 or more, but is -1"):
        fitted.evaluate(world.test, caution=-1.0)
    bare = s3cmtf.S3CMTF(rank=2, epochs=3, keep_data=False).fit(world.train, **world.words)
    with pytest.warns(s3cmtf.Note, match="the training data are not with the model"):
        assert bare.evaluate(world.test).ranking is None
    assert bare.evaluate(world.test, k=5).ranking["without_seen"] is False


def test_each_part_is_said_to_be_worth_what_it_is(world, command, tmp_path):
    # Few entries, so that genres matter; months hardly do.
    few = world.train.iloc[:1500]
    couple = [s3cmtf.Coupled("film", world.genres, absent="zeros")]
    model = s3cmtf.S3CMTF(rank=6, epochs=30, seed=3).fit(few, couple=couple, **world.words)
    found = model.ablate()
    assert found.parts["left_out"].tolist() == ["film/genre", "date"]
    genre, date = found.parts.itertuples()
    assert genre.verdict == "helps" and genre.rmse > found.rmse
    assert genre.difference == pytest.approx(genre.rmse / found.rmse - 1)
    assert date.verdict in ("helps", "makes no difference", "makes it worse") and date.difference < genre.difference
    assert found.held_out == 150 and found.rmse < min(found.offsets_rmse, found.mean_rmse)
    model.save(tmp_path / "model")
    told = [json.loads(line) for line in command("evaluate", str(tmp_path / "model"), "--ablate", "--json").splitlines()]
    assert [line["rmse"] for line in told[:2]] == found.parts["rmse"].tolist() and told[2]["rmse"] == found.rmse
    bare = s3cmtf.S3CMTF(rank=2, epochs=3, keep_data=False).fit(few, **world.words)
    with pytest.raises(ValueError, match="the training data are not with the model"):
        bare.ablate()
    with pytest.raises(ValueError, match="holdout should be between 0 and 1"):
        model.ablate(holdout=2.0)


def test_caution_puts_what_is_well_known_first(world, command, tmp_path):
    # A film that one user liked, and of which nothing else is known.
    lucky = pd.DataFrame({"user": [100], "film": ["Lucky"], "date": [np.datetime64("2017-06-01")], "stars": [4.5]})
    model = s3cmtf.S3CMTF(rank=4, epochs=40, seed=1).fit(pd.concat([world.train, lucky]), **world.words)

    def place(caution):
        found = model.recommend("user", 120, "film", n=100, caution=caution)
        return found["film"].tolist().index("Lucky"), found

    (bold, plain), (careful, cautious) = place(None), place(3.0)
    assert careful > bold
    # Predictions are what they were: only their order is another.
    both = plain.merge(cautious, on="film")
    assert np.allclose(both["predicted_stars_x"], both["predicted_stars_y"])
    model.save(tmp_path / "model")
    words = ["--for", "user=120", "--mode", "film", "--caution", "3", "--json"]
    told = json.loads(command("recommend", str(tmp_path / "model"), *words))
    assert [one["name"] for one in told["recommendations"]] == cautious["film"].tolist()[:10]
    with pytest.raises(ValueError, match="caution should be"):
        model.recommend("user", 120, "film", caution=float("nan"))
    sgd = s3cmtf.S3CMTF(rank=2, epochs=2, algorithm="sgd").fit(world.train, **world.words)
    with pytest.raises(ValueError, match="which caution needs"):
        sgd.recommend("user", 100, "film", caution=1.0)


def test_a_profile_is_what_the_command_shows(fitted, tmp_path, command):
    fitted.save(tmp_path / "model")
    told = json.loads(command("recommend", str(tmp_path / "model"), "--for", "user=100", "--mode", "film", "--json"))
    found = fitted.profile("user", 100, "film")
    assert found["concept"].tolist() == [worth["name"] for worth in told["profile"]]
    assert found["adds"].tolist() == [worth["adds"] for worth in told["profile"]]
    assert found["strength"].is_monotonic_decreasing
    at = fitted.profile("user", 100, "film", at={"date": "2017-01"})
    assert at["adds"].tolist() != found["adds"].tolist()


def test_what_nobody_says_is_what_the_command_takes(world, fitted, tmp_path, command):
    fitted.save(tmp_path / "model")
    folder = str(tmp_path / "model")
    told = json.loads(command("clusters", folder, "--mode", "film", "--json"))
    found = fitted.clusters("film")
    assert found.described == told["clusters"] and found.gap == told["gap"]
    told = json.loads(command("concepts", folder, "--mode", "film", "--json"))
    assert fitted.concepts("film").described == told["concepts"]
    told = json.loads(command("similar", folder, "film=Film 1", "--json"))
    assert len(fitted.similar("film", "Film 1")) == len(told["similar"]) == 10


def test_numbers_go_to_other_programs(fitted, tmp_path):
    files = fitted.export(tmp_path / "tables")
    assert {file.rsplit("/", 1)[1] for file in files} >= {
        "core.parquet",
        "factor.user.parquet",
        "factor.film.parquet",
        "factor.date.parquet",
    }
    films = pd.read_parquet(tmp_path / "tables" / "factor.film.parquet")
    assert films.iloc[:, 0].astype(str).tolist() == list(fitted.names("film"))
    assert np.allclose(films.iloc[:, 1:].to_numpy(dtype=float), fitted.factors["film"], atol=1e-6)
    with pytest.raises(ValueError, match="parquet"):
        fitted.export(tmp_path / "other", "parket")


def test_a_converted_file_is_fitted_as_the_tables_were(world, fitted, tmp_path, command):
    path = tmp_path / "ratings.s3cmtf"
    couple = [s3cmtf.Coupled("film", world.genres, absent="zeros")]
    s3cmtf.convert(world.train, path, couple=couple, **world.words)
    model = s3cmtf.S3CMTF(rank=5, epochs=30, seed=3).fit(path)
    assert np.array_equal(model.core, fitted.core) and list(model.coupled) == ["film/genre"]
    assert np.array_equal(model.predict(world.test), fitted.predict(world.test))
    assert "film 60" in command("check", str(path))
    with pytest.raises(ValueError, match="modes"):
        s3cmtf.S3CMTF(rank=2).fit(path, modes=["user", "film"])
    with pytest.raises(FileNotFoundError, match="create this folder first"):
        s3cmtf.convert(world.train, tmp_path / "nowhere" / "ratings.s3cmtf", **world.words)


def test_the_world_is_that_of_the_demo():
    world = s3cmtf.make_world(users=200, businesses=60, ratings=6000, seed=3)
    same = s3cmtf.make_world(users=200, businesses=60, ratings=6000, seed=3)
    pd.testing.assert_frame_equal(world.ratings, same.ratings)
    assert len(world.ratings) == 4800 and len(world.test) == 1200
    assert not s3cmtf.make_world(users=200, businesses=60, ratings=6000, seed=4).ratings.equals(world.ratings)
    missed = world.test["stars"].to_numpy() - world.test_truth
    assert np.sqrt(np.mean(missed**2)) == pytest.approx(world.noise, rel=0.1)
    assert set(world.themes) >= set(world.ratings["business"]) and len(set(world.themes.values())) == 5
    assert list(world.friends) == ["user", "friend"] and set(world.groups) >= set(world.friends["friend"])
    # Ratings are near to one of a small rank: a model comes close to what the noise allows.
    modes = ["user", "business", "month:month"]
    model = s3cmtf.S3CMTF(rank=6, epochs=60).fit(world.ratings, modes=modes, value="stars", eval_set=world.test)
    assert world.noise < model.rmse(world.test) < 0.9 * world.test["stars"].std()
