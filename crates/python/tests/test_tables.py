"""Whatever the data come in, the model is the same, bit for bit."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse
import sparse

import s3cmtf

WORDS = {"modes": ["user", "film", "date:month"], "value": "stars"}


def fit(data, **words):
    model = s3cmtf.S3CMTF(rank=3, epochs=4)
    return model.fit(data, **(words or WORDS))


def same(one, other):
    assert one.modes_ == other.modes_
    assert np.array_equal(one.core, other.core)
    for mode in one.modes_:
        assert np.array_equal(one.factors[mode], other.factors[mode])
        assert [str(name) for name in one.names(mode)] == [str(name) for name in other.names(mode)]


@pytest.fixture(scope="module")
def first(world):
    return fit(world.train)


def stored(world, how, folder):
    train = world.train
    if how == "polars":
        return pl.DataFrame({name: train[name].to_list() for name in train})
    if how == "polars categorical":
        return stored(world, "polars", folder).with_columns(pl.col("film").cast(pl.Categorical))
    if how == "pyarrow":
        return pa.Table.from_pandas(train, preserve_index=False)
    if how == "pyarrow chunks":
        table = stored(world, "pyarrow", folder)
        return pa.concat_tables([table.slice(0, 1700), table.slice(1700)])
    if how == "dict of arrays":
        return {name: train[name].to_numpy() for name in train}
    if how == "dict of lists":
        return {name: train[name].tolist() for name in train}
    if how == "categories":
        return train.assign(film=train["film"].astype("category"), user=train["user"].astype("category"))
    if how == "nullable":
        return train.assign(user=train["user"].astype("Int32"), stars=train["stars"].astype("Float64"))
    if how == "objects":
        return train.assign(film=train["film"].astype(object), date=train["date"].dt.date.astype(object))
    if how == "zone":
        return train.assign(date=train["date"].dt.tz_localize("UTC").dt.tz_convert("Asia/Seoul"))
    if how == "another index":
        return train.set_index(pd.Index(np.arange(len(train))[::-1] * 7, name="odd"))
    if how == "small types":
        return train.assign(user=train["user"].astype("int16"), stars=train["stars"].astype("float64"))
    if how == "strided":
        doubled = np.repeat(train["user"].to_numpy(), 2)
        return {"user": doubled[::2], **{name: train[name].to_numpy() for name in ("film", "date", "stars")}}
    if how == "csv":
        train.to_csv(folder / "ratings.csv", index=False)
        return folder / "ratings.csv"
    if how == "parquet":
        train.to_parquet(folder / "ratings.parquet")
        return str(folder / "ratings.parquet")
    parts = [folder / "part-1.csv", folder / "part-2.csv"]
    train.iloc[:2000].to_csv(parts[0], index=False)
    train.iloc[2000:].to_csv(parts[1], index=False)
    return str(folder / "part-*.csv") if how == "pattern" else parts


@pytest.mark.parametrize(
    "how",
    [
        "polars",
        "polars categorical",
        "pyarrow",
        "pyarrow chunks",
        "dict of arrays",
        "dict of lists",
        "categories",
        "nullable",
        "objects",
        "zone",
        "another index",
        "small types",
        "strided",
        "csv",
        "parquet",
        "pattern",
        "several paths",
    ],
)
def test_the_model_is_the_same_whatever_the_data_come_in(world, first, how, tmp_path):
    same(first, fit(stored(world, how, tmp_path)))


def test_coordinates_and_values_are_the_same_as_a_table_of_them(world):
    codes = np.column_stack([world.train["user"], pd.factorize(world.train["film"])[0]])
    stars = world.train["stars"].to_numpy()
    by_array = fit(codes, y=stars)
    table = pd.DataFrame({"mode1": codes[:, 0], "mode2": codes[:, 1], "value": stars})
    same(by_array, fit(table, modes=["mode1", "mode2"], value="value"))
    same(by_array, s3cmtf.S3CMTF(rank=3, epochs=4).fit(pl.DataFrame({"mode1": codes[:, 0], "mode2": codes[:, 1]}), stars))
    assert by_array.names("mode1").dtype == np.int64
    coo = sparse.COO(codes.T, stars, shape=tuple(codes.max(axis=0) + 1))
    # sparse.COO puts cells in order and adds up those that come twice.
    order = np.lexsort(coo.coords[::-1])
    same(s3cmtf.S3CMTF(rank=3, epochs=4).fit(coo), fit(coo.coords.T[order], y=coo.data[order]))


def test_a_matrix_of_scipy_is_the_same_as_its_cells(world):
    films = sorted(world.genres["film"])
    genres = sorted(set(world.genres["genre"]))
    rows = [films.index(film) for film in world.genres["film"]]
    columns = [genres.index(genre) for genre in world.genres["genre"]]
    matrix = scipy.sparse.coo_matrix((np.ones(len(rows)), (rows, columns)))
    for kind in (matrix, matrix.tocsr(), scipy.sparse.csr_array(matrix)):
        cells = [s3cmtf.Coupled("film", kind, absent="zeros", index=films, labels=genres, name="genre")]
        by_matrix = s3cmtf.S3CMTF(rank=3, epochs=4).fit(world.train, couple=cells, **WORDS)
        table = [s3cmtf.Coupled("film", world.genres, absent="zeros")]
        by_table = s3cmtf.S3CMTF(rank=3, epochs=4).fit(world.train, couple=table, **WORDS)
        assert list(by_matrix.coupled) == list(by_table.coupled) == ["film/genre"]
        assert list(by_matrix.coupled["film/genre"].columns) == genres
        if kind is matrix:
            same(by_matrix, by_table)
            assert np.array_equal(by_matrix.coupled["film/genre"].factor, by_table.coupled["film/genre"].factor)


def test_names_come_back_as_they_were(world, first):
    assert first.names("user").dtype == np.int64 and set(first.names("user")) == set(world.train["user"])
    assert set(first.names("film")) == set(world.train["film"])
    assert list(first.names("date")) == [f"2017-{month:02}" for month in range(1, 7)]
    texts = fit(world.train.assign(user=world.train["user"].astype(str)))
    assert set(texts.names("user")) == set(world.train["user"].astype(str))
    days = fit(world.train, modes=["user", "film", "date"], value="stars")
    assert set(days.names("date")) == set(world.train["date"].to_numpy().astype("datetime64[s]"))


def test_categories_and_numbers_are_those_of_the_table_that_comes_out(world):
    model = fit(world.train.assign(film=world.train["film"].astype("category")))
    table = model.recommend("user", 100, "film", n=3)
    assert isinstance(table, pd.DataFrame) and str(table["film"].dtype) == "category"
    assert table["user"].tolist() == [100] * 3
    by_polars = fit(pl.from_pandas(world.train))
    assert isinstance(by_polars.recommend("user", 100, "film"), pl.DataFrame)
    assert isinstance(by_polars.history, pl.DataFrame)


def test_what_is_obvious_needs_no_words_and_a_note_says_what_was_taken(world):
    with pytest.warns(s3cmtf.Note, match="inferred: modes user,film,date:month, value stars"):
        guessed = s3cmtf.S3CMTF(rank=3, epochs=4).fit(world.train)
    same(guessed, fit(world.train))


def test_entities_on_one_side_only_are_told_of(world):
    genres = pd.DataFrame({"film": ["Film 0", "Film 999"], "genre": ["Drama", "Crime"]})
    with pytest.warns(s3cmtf.Note) as notes:
        s3cmtf.S3CMTF(rank=3, epochs=2).fit(world.train, couple=[s3cmtf.Coupled("film", genres)], **WORDS)
    told = " ".join(str(note.message) for note in notes)
    assert "1 film ids have no entry in the tensor" in told and "59 of 60 film ids do not occur in" in told


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("user", [1, None, 3, 4]),
        ("film", ["a", None, "b", "c"]),
        ("film", pd.Categorical(["a", None, "b", "c"])),
        ("date", pd.to_datetime(["2017-01-01", None, "2017-01-03", "2017-01-04"])),
        ("stars", [1.0, float("nan"), 2.0, 3.0]),
        ("stars", pd.array([1.0, None, 2.0, 3.0], dtype="Float64")),
        ("user", pd.array([1, None, 2, 3], dtype="Int64")),
    ],
)
def test_a_missing_value_is_named_with_its_row(column, values):
    whole = {
        "user": [1, 2, 3, 4],
        "film": ["a", "b", "c", "a"],
        "date": pd.to_datetime(["2017-01-01", "2017-01-02", "2017-01-03", "2017-01-04"]),
        "stars": [1.0, 2.0, 3.0, 4.0],
    }
    frame = pd.DataFrame({**whole, column: values})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        with pytest.raises(
            ValueError, match=rf'entry 2: column "{column}": (the value is missing|NaN is not a finite number)'
        ):
            s3cmtf.S3CMTF(rank=2, epochs=1).fit(table, **WORDS)


def test_times_before_1970_and_of_any_unit_are_put_into_their_month():
    when = [
        datetime.datetime(1969, 12, 31, 23, 59, 59, 500000),
        datetime.datetime(2017, 3, 1),
        datetime.datetime(1970, 1, 1),
    ]
    for unit in ("s", "ms", "us", "ns"):
        times = np.array(when, dtype=f"datetime64[{unit}]")
        table = {"user": [1, 2, 1], "date": times, "stars": [1.0, 2.0, 3.0]}
        model = s3cmtf.S3CMTF(rank=2, epochs=1).fit(table, modes=["user", "date:month"], value="stars")
        assert list(model.names("date")) == ["1969-12", "1970-01", "2017-03"]


def test_files_may_need_words(tmp_path):
    path = tmp_path / "export.txt"
    path.write_text("1;7;4.5\n2;7;3\n2;8;1\n")
    words = {"modes": ["user=1", "film=2"], "value": "3"}
    model = s3cmtf.S3CMTF(rank=2, epochs=2).fit(s3cmtf.Files(path, header=False, format="csv"), **words)
    assert model.factors.names("user").tolist() == [1, 2] and model.record_["data"]["entries"] == 3
    predicted = model.predict(s3cmtf.Files(path, header=False))
    assert np.array_equal(predicted, model.predict({"1": [1, 2, 2], "2": [7, 7, 8]}))
    with pytest.raises(ValueError, match="csw"):
        s3cmtf.S3CMTF().fit(s3cmtf.Files(path, format="csw"), **words)
