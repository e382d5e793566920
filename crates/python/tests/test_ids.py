"""Ids and columns are what they are in the data: what goes in as a number, a text or a time comes back as such."""

from __future__ import annotations

import datetime
import zoneinfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import s3cmtf


def fit(data, **words):
    return s3cmtf.S3CMTF(rank=3, epochs=4, seed=1).fit(data, **words)


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        (lambda user: user.astype(str).astype("category"), "category"),
        (lambda user: user.astype("category"), "category"),
        (lambda user: user.astype(str), None),
        (lambda user: user, "int64"),
        (lambda user: user.astype(float), "float64"),
        (lambda user: user.astype(object), "int64"),
        (lambda user: user.astype("uint64") + np.uint64(2**63), "uint64"),
        (lambda user: user % 2 == 0, "bool"),
    ],
    ids=["digits as categories", "categories", "texts", "numbers", "floats", "objects", "large", "truth"],
)
def test_a_merge_with_what_comes_out_finds_its_rows(world, ids, dtype):
    data = world.train.assign(user=ids(world.train["user"]))
    model = fit(data, **world.words)
    someone = data["user"].iloc[0]
    recommended = model.recommend("film", "Film 0", "user", n=5, include_seen=True)
    alike = model.similar("user", someone, n=5)
    if dtype is not None:
        assert str(recommended["user"].dtype) == str(alike["user"].dtype) == dtype
    for table in (recommended, alike, model.clusters("user", k=2).of, model.factors.frame("user")):
        joined = table.merge(data[["user"]].drop_duplicates(), on="user")
        assert len(joined) == len(table) > 0
    assert set(model.names("user")) == set(data["user"])
    assert len(model.recommend("user", someone, "film", n=2, include_seen=True)) == 2


def test_ids_come_back_from_a_folder_as_they_were(world, tmp_path):
    digits = world.train.assign(user=world.train["user"].astype(str).astype("category"))
    model = fit(digits, **world.words)
    model.save(tmp_path / "model")
    again = s3cmtf.load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.recommend("user", "100", "film"), model.recommend("user", "100", "film"))
    pd.testing.assert_frame_equal(again.similar("user", "100"), model.similar("user", "100"))
    assert set(again.names("user")) == set(digits["user"])
    # Those of another model say nothing of this one, nor does a file that is broken.
    other = fit(world.train.head(4000), **world.words)
    for text in ((tmp_path / "model" / "python.json").read_text(), "{"):
        other.save(tmp_path / "other")
        (tmp_path / "other" / "python.json").write_text(text)
        assert s3cmtf.load(tmp_path / "other").names("user").dtype == np.int64


def test_ids_of_polars_and_pyarrow_come_back_too(world):
    digits = pl.from_pandas(world.train).with_columns(pl.col("user").cast(pl.String).cast(pl.Categorical))
    found = fit(digits, **world.words).similar("user", "100", n=3)
    assert found["user"].dtype == pl.String
    numbers = pa.Table.from_pandas(world.train.assign(user=world.train["user"].astype("category")))
    assert fit(numbers, **world.words).names("user").dtype == np.int64


def test_a_number_with_a_point_is_the_same_id(world, fitted):
    expected = fitted.recommend("user", 100, "film", n=3)
    for same in (100.0, np.float64(100.0), np.int32(100), "100"):
        pd.testing.assert_frame_equal(fitted.recommend("user", same, "film", n=3), expected)
        pd.testing.assert_frame_equal(fitted.similar("user", same), fitted.similar("user", 100))
        pd.testing.assert_frame_equal(fitted.profile("user", same, "film"), fitted.profile("user", 100, "film"))
    pd.testing.assert_frame_equal(fitted.recommend("user", [100.0], "film", n=3), expected)
    cell = {"film": ["Film 0"], "date": [np.datetime64("2017-03-01")]}
    assert fitted.predict({"user": [100.0], **cell}) == fitted.predict({"user": [100], **cell})


def test_a_time_stands_for_its_mode_however_it_is_written(world, fitted):
    expected = fitted.recommend("user", 100, "film", at={"date": "2017-03"})
    times = [
        np.datetime64("2017-03-05"),
        pd.Timestamp("2017-03-05 12:00"),
        datetime.date(2017, 3, 5),
        # The clock of Tokyo shows March.
        pd.Timestamp("2017-03-01 04:00", tz="Asia/Tokyo"),
    ]
    for time in times:
        pd.testing.assert_frame_equal(fitted.recommend("user", 100, "film", at={"date": time}), expected)
    days = fit(world.train, modes=["user", "film", "date"], value="stars")
    day = world.train["date"].iloc[0]
    assert len(days.recommend("user", 100, "film", at={"date": day}, n=2)) == 2


def test_times_are_put_together_by_the_clock_of_their_zone():
    zone = zoneinfo.ZoneInfo("America/New_York")
    # 22:00 on a Monday in January, which is February and Tuesday in London.
    clocks = [datetime.datetime(2000, 1, 31, 22), datetime.datetime(2000, 2, 1, 9)]
    local = pd.Series(clocks).dt.tz_localize(zone)
    frame = pd.DataFrame({"user": [1, 2], "time": local, "stars": [1.0, 2.0]})
    tables = [
        frame,
        frame.assign(time=local.astype(object)),
        frame.assign(time=local.astype("timestamp[us, tz=America/New_York][pyarrow]")),
        {"user": [1, 2], "time": [clock.replace(tzinfo=zone) for clock in clocks], "stars": [1.0, 2.0]},
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
    ]
    names = {"month": ["2000-01", "2000-02"], "hour-of-day": ["09h", "22h"], "day-of-week": ["Mon", "Tue"]}
    for table in tables:
        for bins, expected in names.items():
            model = s3cmtf.S3CMTF(rank=2, epochs=1).fit(table, modes=["user", f"time:{bins}"], value="stars")
            found = sorted(model.names("time"))
            assert found == expected or [name[:3] for name in found] == expected, (bins, found)


def test_columns_whose_labels_are_numbers_go_by_their_labels(world):
    named = world.train[["user", "film", "stars"]]
    expected = fit(named, modes=["user", "film"], value="stars")
    frame = named.set_axis([0, 1, 2], axis=1)
    for model in (
        fit(frame, modes=[0, 1], value=2),
        fit(frame, modes=["0", "1"], value="2"),
        fit({0: named["user"], 1: named["film"], 2: named["stars"]}, modes=[0, 1], value=2),
        fit(frame[[2, 1, 0]], modes=[0, 1], value=2),
        fit(frame[[0, 1]], y=frame[2]),
    ):
        assert model.modes_ == ["column 0", "column 1"]
        assert np.array_equal(model.core, expected.core)
        assert np.array_equal(model.factors[1], expected.factors["film"])
        assert model.predict(frame[[1, 0, 2]]).tolist() == expected.predict(named).tolist()
        assert (
            model.recommend(0, 100, 1, n=3)["column 1"].tolist()
            == expected.recommend("user", 100, "film", n=3)["film"].tolist()
        )
    genres = s3cmtf.Coupled(1, world.genres, absent="zeros")
    assert list(fit(frame, modes=[0, 1], value=2, couple=genres).coupled) == ["column 1/genre"]
    other = fit(frame, modes=["user=0", "film=1"], value=2, eval_set=frame)
    assert other.modes_ == ["user", "film"] and other.evaluate(frame).entries == len(frame)
    # Labels that are no places.
    years = named.set_axis([1990, 1991, 1992], axis=1)
    assert fit(years, modes=[1990, 1991], value=1992).modes_ == ["column 1990", "column 1991"]
    dated = world.train.set_axis([10, 20, 30, 40], axis=1)
    assert list(fit(dated, modes=[10, 20, "30:month"], value=40).names(30)) == [f"2017-{m:02}" for m in range(1, 7)]
    # An array has no labels, and a frame of one is the same.
    codes = np.column_stack([named["user"], pd.factorize(named["film"])[0]])
    array = fit(codes, y=named["stars"].to_numpy())
    assert array.predict(pd.DataFrame(codes)).tolist() == array.predict(codes).tolist()


def test_a_label_that_is_not_there_is_named_with_those_that_are(world):
    named = world.train[["user", "film", "stars"]]
    frame = named.set_axis([0, 1, 2], axis=1)
    with pytest.raises(KeyError) as error:
        fit(frame, modes=[0, 1], value=3)
    assert str(error.value) == "X: has no column 3 (its columns are 0, 1, 2)"
    with pytest.raises(s3cmtf.UnknownName, match=r"X: has no column 2 \(its columns are user, film, stars\)"):
        fit(named, modes=["user", "film"], value=2)
    with pytest.raises(s3cmtf.UnknownName, match=r"X: has no column 1 \(its columns are user, film, stars\)"):
        fit(pl.from_pandas(named), modes=[1, 2], value="stars")


@pytest.mark.parametrize(
    "index",
    [
        lambda user: pd.Index(user, name="user"),
        lambda user: pd.Index(user.astype("uint32"), name="user"),
        lambda user: pd.Index(user.astype(float), name="user"),
        lambda user: pd.Index(user.astype(float)),
        lambda user: pd.Index(user.astype(str)),
        lambda user: pd.Index(user, name="user_id"),
    ],
    ids=["integers", "unsigned", "floats", "floats without a name", "texts", "another name"],
)
def test_a_wide_frame_has_the_entities_of_its_index(world, index, command, tmp_path):
    users = np.sort(world.train["user"].unique())
    wide = pd.DataFrame({"age": users % 60 + 18, "occupation": users % 21}, index=index(users))
    model = fit(world.train, couple=s3cmtf.Coupled("user", wide, name="known"), **world.words)
    assert list(model.coupled["user/known"].columns) == ["age", "occupation"]
    # Every cell is one of the matrix.
    path = tmp_path / "problem.s3cmtf"
    s3cmtf.convert(world.train, path, couple=s3cmtf.Coupled("user", wide, name="known"), **world.words)
    assert f"{2 * len(users)} entries" in command("check", str(path))


def test_a_wide_frame_of_dates_has_those_of_its_index(world):
    days = pd.DataFrame({"rain": [3.0, 1.0]}, index=pd.to_datetime(["2017-01-15", "2017-05-15"]))
    model = fit(world.train, couple=s3cmtf.Coupled("date", days, name="weather"), **world.words)
    assert list(model.coupled["date/weather"].columns) == ["rain"]
    assert len(model.names("date")) == 6


def test_columns_of_a_wide_frame_keep_their_labels(world):
    users = np.sort(world.train["user"].unique())
    jobs = pd.DataFrame(np.eye(21)[users % 21], index=pd.Index(users, name="user"))
    model = fit(world.train, couple=s3cmtf.Coupled("user", jobs, absent="zeros", name="job"), **world.words)
    assert sorted(model.coupled["user/job"].columns) == list(range(21))


def test_a_long_frame_is_not_taken_for_a_wide_one(world):
    users = np.sort(world.train["user"].unique())
    cells = pd.DataFrame({"user": users, "group": users % 5, "much": 1.5 * (users % 3)})
    expected = fit(world.train, couple=s3cmtf.Coupled("user", cells), **world.words)
    for same in (
        cells[cells["user"] > 0],
        cells.set_index(pd.Index(np.arange(len(cells)) * 7, name="odd")),
        cells.set_index("user").astype({"group": str}),
    ):
        model = fit(world.train, couple=s3cmtf.Coupled("user", same), **world.words)
        assert len(model.coupled["user/group"].columns) == 5
        assert model.rmse() == pytest.approx(expected.rmse(), rel=1e-3)


def test_columns_of_a_matrix_may_be_numbers(world):
    users = np.sort(world.train["user"].unique())
    cells = pd.DataFrame({0: users % 5, 1: users, 2: np.ones(len(users))})
    model = fit(world.train, couple=s3cmtf.Coupled("user", cells, columns=[1, 0], name="group"), **world.words)
    assert sorted(model.coupled["user/group"].columns) == [0, 1, 2, 3, 4]
    with pytest.raises(KeyError, match=r"couple user: has no column 7 \(its columns are 0, 1, 2\)"):
        fit(world.train, couple=s3cmtf.Coupled("user", cells, columns=[1, 7]), **world.words)
