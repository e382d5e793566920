"""What people try before they read the documents: it works, or what is said helps."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import s3cmtf


def fit(data, **words):
    return s3cmtf.S3CMTF(rank=3, epochs=4, seed=1).fit(data, **words)


def notes(work) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [str(note.message) for note in found if issubclass(note.category, s3cmtf.Note)]


def test_times_that_nobody_put_together_are_mentioned(world):
    random = np.random.default_rng(1)
    data = world.train.assign(
        date=world.train["date"] + pd.to_timedelta(random.integers(0, 86400, len(world.train)), unit="s")
    )
    (note,) = notes(lambda: fit(data, modes=["user", "film", "date"], value="stars"))
    assert note.endswith('times for 5000 entries: "date:month" puts them together') and note.startswith("mode date has 5000")
    assert notes(lambda: fit(data, **world.words)) == []
    assert notes(lambda: fit(world.train, modes=["user", "film", "date"], value="stars")) == [], "few days are a mode"
    # The same in polars, and under another name.
    (note,) = notes(lambda: fit(pl.from_pandas(data), modes=["user", "film", "when=date"], value="stars"))
    assert note.startswith("mode when has 5000")


def test_values_that_nobody_named_are_mentioned(world):
    found = notes(lambda: fit(world.train, modes=["user", "film"]))
    assert "rows are counted: value says which column has the values, such as stars" in found
    pairs = world.train[["user", "film"]]
    assert not any("counted" in note for note in notes(lambda: fit(pairs, modes=["user", "film"])))
    assert not any("counted" in note for note in notes(lambda: fit(world.train, modes=["user", "film"], value="stars")))


def test_a_frame_of_other_ids_is_mentioned(world, fitted):
    other = world.test.assign(user=world.test["user"] + 100_000)
    (note,) = notes(lambda: fitted.predict(other))
    assert note.startswith("1000 of 1000 cells have an entity that is not in the model")
    assert notes(lambda: fitted.predict(world.test)) == []


def test_one_cell_is_written_as_people_write_it(world, fitted):
    cell = world.test.iloc[0]
    alone = fitted.predict({"user": cell["user"], "film": cell["film"], "date": cell["date"]})
    assert alone.tolist() == fitted.predict(world.test.iloc[[0]]).tolist()
    with pytest.raises(ValueError, match=r"one row of a frame is frame\.iloc\[\[0\]\]"):
        fitted.predict(cell)


def test_values_of_groups_are_a_table(world):
    means = world.train.groupby(["user", "film"])["stars"].mean()
    model = fit(means)
    assert model.modes_ == ["user", "film"]
    table = means.reset_index()
    same = fit(table, modes=["user", "film"], value="stars")
    assert np.array_equal(model.core, same.core)
    assert list(model.recommend("user", 100, n=1)) == ["user", "rank", "film", "predicted_stars", "reason"]


def test_a_lazy_frame_is_collected(world):
    lazy = pl.from_pandas(world.train).lazy()
    assert np.array_equal(fit(lazy, **world.words).core, fit(pl.from_pandas(world.train), **world.words).core)


def test_modes_in_one_text_are_those_of_the_command(world):
    one = fit(world.train, modes="user, film,date:month", value="stars")
    assert np.array_equal(one.core, fit(world.train, **world.words).core)


def test_series_and_indices_of_entities_are_lists_of_them(fitted):
    wanted = fitted.recommend("user", [100, 101], "film", n=2)
    for some in (pd.Series([100, 101]), pd.Index([100, 101]), pl.Series([100, 101]), np.array([100, 101]), (100, 101)):
        pd.testing.assert_frame_equal(fitted.recommend("user", some, "film", n=2), wanted)


def test_side_data_come_in_many_forms(world, tmp_path, command):
    films = sorted(set(world.train["film"]))
    wide = pd.get_dummies(world.genres.set_index("film")["genre"])
    matrix = scipy.sparse.csr_array(wide.loc[films].to_numpy(dtype=float))
    long = s3cmtf.Coupled("film", world.genres, absent="zeros", name="genre")
    of_wide = s3cmtf.Coupled("film", wide, absent="zeros", name="genre")
    of_matrix = s3cmtf.Coupled("film", matrix, absent="zeros", index=films, labels=list(wide.columns), name="genre")
    models = [fit(world.train, couple=couple, **world.words) for couple in (long, [of_wide], [of_matrix])]
    for model in models:
        assert sorted(model.coupled["film/genre"].columns) == sorted(wide.columns)
        assert model.rmse() == pytest.approx(models[0].rmse(), rel=0.1)
    # Where unknown is not zero, zeros are values.
    kept = {}
    for absent, data in (("missing", wide), ("zeros", wide), ("missing", wide.astype(float).where(wide))):
        path = tmp_path / f"{absent}{len(kept)}.s3cmtf"
        s3cmtf.convert(world.train, path, couple=s3cmtf.Coupled("film", data, absent=absent, name="genre"), **world.words)
        kept[path.stem] = next(line for line in command("check", str(path)).splitlines() if "film/genre" in line)
    assert [f"{size} entries" in line for size, line in zip((240, 60, 60), kept.values())] == [True] * 3, kept
    with pytest.raises(ValueError, match=r"couple film: index has 2 names, but the shape is \(60, 4\)"):
        fit(world.train, couple=[s3cmtf.Coupled("film", matrix, index=["a", "b"])], **world.words)
    with pytest.raises(ValueError, match=r'none of its rows is a film of the tensor: it has "0", the tensor "Film 0" and'):
        fit(world.train, couple=[s3cmtf.Coupled("film", matrix)], **world.words)
    with pytest.raises(TypeError, match=r"couple should be a list of s3cmtf\.Coupled, but has a tuple"):
        fit(world.train, couple=[("film", matrix)], **world.words)


def test_a_matrix_of_scipy_is_factorized_or_says_how(world):
    matrix = scipy.sparse.random(30, 20, 0.3, random_state=1, format="csr")
    cells = matrix.tocoo()
    same = s3cmtf.factorize(np.column_stack([cells.row, cells.col]), cells.data, 2, shape=(30, 20), epochs=3)
    assert np.array_equal(s3cmtf.factorize(matrix, ranks=2, epochs=3).to_dense(), same.to_dense())
    with pytest.raises(TypeError, match=r"np\.column_stack\(\[cells\.row, cells\.col\]\) and cells\.data"):
        fit(matrix)


def test_a_test_set_is_taken_as_boosting_libraries_do(world):
    cells, stars = world.test.drop(columns="stars"), world.test["stars"]
    by_list = fit(world.train, eval_set=[(cells, stars)], **world.words)
    assert (
        by_list.history["test_rmse"].tolist()
        == fit(world.train, eval_set=world.test, **world.words).history["test_rmse"].tolist()
    )


def test_what_is_missing_is_named(world):
    for column, value in (("stars", np.nan), ("user", None), ("date", pd.NaT)):
        data = world.train.astype({"user": object}).copy()
        data.loc[3, column] = value
        with pytest.raises(ValueError, match=f'X: entry 4: column "{column}": '):
            fit(data, **world.words)


def test_a_model_that_went_on_knows_what_was_seen(world, tmp_path):
    model = fit(world.train, **world.words)
    films = len(model.names("film"))
    seen = {tuple(row) for row in world.test.loc[:, ["user", "film"]].to_numpy().tolist()}
    someone = next(user for user, _ in seen if user in set(model.names("user")))
    before = set(model.recommend("user", someone, "film", n=films)["film"])
    model.partial_fit(world.test)
    model.save(tmp_path / "model")
    for grown in (model, s3cmtf.load(tmp_path / "model")):
        after = set(grown.recommend("user", someone, "film", n=films)["film"])
        assert after == before - {film for user, film in seen if user == someone} and after != before
    # Who came later has seen things, too.
    new = world.test.loc[:2].assign(user=987654)
    model.fold_in(new)
    left = set(model.recommend("user", 987654, "film", n=films)["film"])
    assert not left & set(new["film"])


def test_a_model_without_data_says_how_to_recommend(world, fitted, tmp_path):
    fitted.save(tmp_path / "model", data=False)
    model = s3cmtf.load(tmp_path / "model")
    with pytest.raises(ValueError, match="include_seen=True recommends that too"):
        model.recommend("user", 100, "film")
    assert len(model.recommend("user", 100, "film", include_seen=True)) == 10


def test_another_process_recommends_the_same(world, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    code = "import s3cmtf, sys; print(s3cmtf.load(sys.argv[1]).recommend('user', 100, 'film', n=3)['film'].tolist())"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(fitted.recommend("user", 100, "film", n=3)["film"].tolist())
    with pytest.raises(FileNotFoundError, match=r"there is no such folder, did you mean .*model\?"):
        s3cmtf.load(tmp_path / "modle")
