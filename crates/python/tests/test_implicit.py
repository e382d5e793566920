"""Implicit feedback: choices in place of values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import s3cmtf


@pytest.fixture(scope="module")
def plays():
    """Users of three kinds play songs of their kind, some more often than others; and the kinds."""
    random = np.random.default_rng(3)
    kinds = np.arange(90) % 3
    chosen = random.random((90, 60)) < np.where(kinds[:, None] == np.arange(60) % 3, 0.5, 0.02)
    return scipy.sparse.csr_matrix(chosen * random.integers(1, 50, size=chosen.shape)), kinds


def test_a_sparse_matrix_is_taken_as_it_is_and_kinds_are_found(plays):
    matrix, kinds = plays
    model = s3cmtf.S3CMTF(absent="zeros", rank=8).fit(matrix)
    user, song = model.modes_
    found = model.recommend(user, None, song, n=5)
    assert len(found) == 5 * 90
    right = kinds[found[user].astype(int)] == found[song].astype(int) % 3
    assert right.mean() > 0.95
    # What was played is left out.
    assert not any(matrix[int(one), int(other)] for one, other in zip(found[user], found[song], strict=True))


def test_every_choice_is_relevant_and_errors_are_distances_from_one(plays):
    matrix, _ = plays
    cells = matrix.tocoo()
    held = np.random.default_rng(1).random(matrix.nnz) < 0.2
    coordinates = np.column_stack([cells.row, cells.col])
    model = s3cmtf.S3CMTF(absent="zeros", rank=8).fit(coordinates[~held], cells.data[~held])
    measured = model.evaluate(coordinates[held], cells.data[held])
    assert measured.rmse < 1.0
    assert measured.ranking["ndcg"] > 1.5 * measured.ranking["popular"]["ndcg"]


def test_values_stay_where_zeros_are_values(plays):
    matrix, kinds = plays
    model = s3cmtf.S3CMTF(algorithm="bayes", absent="zeros", rank=5, epochs=60).fit(matrix)
    cells = np.indices(matrix.shape).reshape(2, -1).T
    predicted = model.predict(cells)
    truth = np.where(kinds[:, None] == np.arange(60) % 3, 0.5, 0.02) * 25
    # The mean of what is played half of the time, zeros included; without them it would be 25 everywhere.
    assert np.sqrt(np.mean((predicted - truth.ravel()) ** 2)) < 4
    new = scipy.sparse.coo_matrix(matrix[:10])
    later = model.fold_in(np.column_stack([new.row + 100, new.col]), new.data)
    found = later.recommend(later.modes_[0], 100, later.modes_[1], n=5)
    assert (found[later.modes_[1]].astype(int) % 3 == kinds[0]).all()


def test_missing_cells_of_a_sparse_matrix_must_be_said_to_be_zeros(plays):
    with pytest.raises(TypeError, match='absent="zeros"'):
        s3cmtf.S3CMTF(rank=3).fit(plays[0])


def test_models_of_ratings_rank_by_choice_too():
    world = s3cmtf.make_world(users=300, businesses=100, months=6, ratings=6000)
    model = s3cmtf.S3CMTF(rank=4, epochs=30).fit(world.ratings, modes=["user", "business", "month:month"], value="stars")
    lists = {
        score: model.recommend("user", None, "business", n=5, score=score) for score in ("rating", "choice", "both", None)
    }
    assert lists["both"].equals(lists[None])
    assert not lists["rating"].equals(lists["choice"])
    assert lists["rating"]["predicted_stars"].mean() > lists["both"]["predicted_stars"].mean()
    often = world.ratings["business"].value_counts()
    assert lists["choice"]["business"].map(often).mean() > lists["rating"]["business"].map(often).mean()
    with pytest.raises(ValueError, match="did you mean"):
        model.recommend("user", None, "business", score="ratings")
    bare = s3cmtf.S3CMTF(rank=4, epochs=5, without=["choice"]).fit(
        world.ratings, modes=["user", "business", "month:month"], value="stars"
    )
    with pytest.raises(ValueError, match="does not know what is chosen"):
        bare.recommend("user", None, "business", score="choice")


def test_new_users_are_folded_in_by_what_they_chose(plays):
    matrix, kinds = plays
    cells = matrix.tocoo()
    table = pd.DataFrame({"user": [f"u{row}" for row in cells.row], "song": [f"s{column}" for column in cells.col]})
    is_new = cells.row >= 75
    model = s3cmtf.S3CMTF(absent="zeros", rank=8).fit(table[~is_new], modes=["user", "song"])
    model.fold_in(table[is_new])
    new = [f"u{row}" for row in range(75, 90)]
    found = model.recommend("user", new, "song", n=5, include_seen=True)
    right = kinds[found["user"].str[1:].astype(int)] == found["song"].str[1:].astype(int) % 3
    assert len(found) == 5 * 15 and right.mean() > 0.95
    with pytest.raises(ValueError, match="not of what they choose from"):
        model.fold_in(pd.DataFrame({"user": ["someone"], "song": ["unheard"]}))
