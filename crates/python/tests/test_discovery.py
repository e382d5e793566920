"""What a model says, held against what its numbers say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import s3cmtf


def test_what_is_recommended_is_what_is_predicted_best_and_was_not_seen(world, fitted):
    user = int(world.train["user"].iloc[0])
    found = fitted.recommend("user", user, "film", n=5, at={"date": "2017-06"})
    seen = set(world.train.loc[world.train["user"] == user, "film"])
    films = [film for film in fitted.names("film") if film not in seen]
    cells = pd.DataFrame({"user": user, "film": films, "date": np.datetime64("2017-06-15")})
    order = np.argsort(-fitted.predict(cells), kind="stable")[:5]
    assert found["film"].tolist() == [films[place] for place in order]
    assert np.allclose(found["predicted_stars"], fitted.predict(cells)[order], atol=1e-4)
    assert found["rank"].tolist() == [1, 2, 3, 4, 5] and (found["user"] == user).all()
    assert all(found["reason"].str.len() > 0)


def test_items_can_be_chosen_by_their_columns_and_what_was_seen_is_asked_for(world, fitted):
    crime = set(world.genres.loc[world.genres["genre"] == "Crime", "film"])
    found = fitted.recommend("user", 100, "film", n=100, where={"genre": "Crime"}, include_seen=True)
    assert set(found["film"]) == crime
    with pytest.raises(ValueError, match="where should be a column of genre"):
        fitted.recommend("user", 100, "film", where={"genre": "Crme"})


def test_several_and_all_are_recommended_to(fitted):
    two = fitted.recommend("user", [101, 100], "film", n=3)
    assert two["user"].tolist() == [101] * 3 + [100] * 3 and two["rank"].tolist() == [1, 2, 3] * 2
    everybody = fitted.recommend("user", None, "film", n=2)
    assert len(everybody) == 2 * len(fitted.names("user"))
    alone = fitted.recommend("user", 100, "film", n=3)
    pd.testing.assert_frame_equal(alone, two[two["user"] == 100].reset_index(drop=True))


def test_who_is_not_there_is_a_key_error_with_a_hint(fitted):
    with pytest.raises(KeyError) as error:
        fitted.recommend("user", 100000, "film")
    assert str(error.value).startswith("the model knows no user 100000")
    with pytest.raises(s3cmtf.UnknownName, match=r'there is no mode flim, did you mean "film"\?'):
        fitted.similar("flim", "Film 1")
    with pytest.raises(KeyError):
        fitted.factors["nobody"]


def test_films_of_a_genre_are_alike_and_fall_into_clusters(world, fitted):
    kind = dict(zip(world.genres["film"], world.genres["genre"]))
    found = fitted.similar("film", "Film 0", n=5)
    assert [kind[film] for film in found["film"]] == [kind["Film 0"]] * 5
    assert found["likeness"].is_monotonic_decreasing and found["likeness"].max() <= 1 + 1e-6
    clusters = fitted.clusters("film", k=4)
    assert len(clusters) == 4 and len(clusters.of) == 60
    together = pd.crosstab(clusters.of["cluster"], clusters.of["film"].map(kind))
    assert together.max(axis=1).sum() >= 57
    assert clusters.described[0]["marks"][0]["matrix"] == "film/genre"
    assert len(fitted.clusters("film")) > 1
    with pytest.raises(ValueError, match="k should be"):
        fitted.clusters("film", k=0)
    with pytest.raises(ValueError, match="k should be"):
        fitted.clusters("film", k="many")


def test_concepts_are_described_and_every_film_has_so_much_of_each(fitted):
    found = fitted.concepts("film", n=3)
    assert set(found.table["mode"]) == {"film"} and list(found.scores) == ["film"]
    assert found.scores["film"].shape == (60, len(found.table))
    strongest = found.described[0]["strongest"][0]
    row = list(fitted.names("film")).index(strongest["name"])
    assert found.scores["film"][row, 0] == pytest.approx(strongest["score"], rel=1e-5)
    assert set(fitted.concepts().table["mode"]) == {"user", "film", "date"}


def test_a_coupled_matrix_is_there_by_name(world, fitted):
    genre = fitted.coupled["film/genre"]
    assert (genre.mode, genre.absent) == ("film", "zeros")
    assert sorted(genre.columns) == sorted(set(world.genres["genre"]))
    # Rows of films times columns of genres are near to the matrix.
    cells = fitted.factors["film"] @ genre.factor.T
    best = [genre.columns[column] for column in cells.argmax(axis=1)]
    kind = dict(zip(world.genres["film"], world.genres["genre"]))
    assert np.mean([kind[film] == name for film, name in zip(fitted.names("film"), best)]) > 0.95
    table = genre.frame()
    assert list(table.columns) == ["genre", "1", "2", "3", "4", "5"]
    assert fitted.factors.frame("film")["film"].tolist() == list(fitted.names("film"))


def test_a_report_tells_of_this_run(world, fitted, tmp_path):
    fitted.report(tmp_path / "report.html", title="My films")
    page = (tmp_path / "report.html").read_text()
    assert "My films" in page and "film/genre" in page and "http://" not in page.replace("http://www.w3.org", "")
    with pytest.raises(FileNotFoundError, match="create this folder first"):
        fitted.report(tmp_path / "nowhere" / "report.html")


def test_a_model_without_its_data_recommends_what_was_seen_or_says_why_not(world):
    model = s3cmtf.S3CMTF(rank=3, epochs=3, keep_data=False).fit(world.train, **world.words)
    with pytest.raises(ValueError, match="the training data are not with the model"):
        model.recommend("user", 100, "film")
    assert len(model.recommend("user", 100, "film", n=4, include_seen=True)) == 4


def test_a_saved_model_is_what_it_was(world, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = s3cmtf.load(tmp_path / "model")
    assert np.array_equal(again.predict(world.test), fitted.predict(world.test))
    assert again.recommend("user", 100, "film")["film"].tolist() == fitted.recommend("user", 100, "film")["film"].tolist()
    assert again.rank == 5 and again.seed == 3 and again.epochs == 30 and again.algorithm is None
    assert json.loads((tmp_path / "model" / "run.json").read_text())["summary"] == again.record_["summary"]
    refitted = again.fit(world.train, couple=[s3cmtf.Coupled("film", world.genres, absent="zeros")], **world.words)
    assert np.array_equal(refitted.core, fitted.core)


def test_what_is_shown_of_parts_is_short_and_names_them(fitted):
    clusters = fitted.clusters("film", k=3)
    lines = repr(clusters).splitlines()
    assert lines[0] == "3 clusters of film:" and len(lines) == 4
    assert clusters.described[0]["typical"][0]["name"] in lines[1]
    concepts = fitted.concepts("film")
    lines = repr(concepts).splitlines()
    assert lines[0] == f"{len(concepts.described)} concepts:" and len(lines) == len(concepts.described) + 1
    assert concepts.described[0]["strongest"][0]["name"] in lines[1]
    for name, matrix in fitted.coupled.items():
        assert repr(matrix).startswith(f"CoupledFactor({name!r}, ") and len(repr(matrix)) < 100
    assert len(repr(s3cmtf.make_world(users=50, businesses=20, ratings=500))) < 120
    tensor = s3cmtf.factorize(np.array([[0, 0], [0, 1], [1, 1], [2, 0]]), [5.0, 3.0, 2.0, 4.0], 2, epochs=3)
    assert repr(tensor) == "TuckerTensor(shape (3, 2), full core of (2, 2))"
