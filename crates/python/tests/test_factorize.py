"""The door for those who have coordinates and values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import pyttb
import scipy.sparse
import sparse
import tensorly

import s3cmtf


@pytest.fixture(scope="module")
def planted():
    random = np.random.default_rng(3)
    factors = [random.normal(size=(size, 2)) for size in (30, 25, 8)]
    dense = np.einsum("ir,jr,kr->ijk", *factors)
    cells = np.argwhere(random.random(dense.shape) < 0.3)
    return dense, cells, dense[tuple(cells.T)]


@pytest.mark.parametrize(("core", "ranks"), [("full", [3, 4, 2]), ("full", 3), ("diagonal", 3)])
def test_tensorly_and_pyttb_reconstruct_what_we_do(planted, core, ranks):
    dense, cells, values = planted
    found = s3cmtf.factorize(cells, values, ranks, core=core, epochs=20)
    own = found.to_dense()
    assert own.shape == dense.shape == found.shape
    theirs = found.to_tensorly()
    rebuilt = tensorly.cp_to_tensor(theirs) if core == "diagonal" else tensorly.tucker_to_tensor(theirs)
    assert np.abs(rebuilt - own).max() < 1e-4
    full = found.to_pyttb().full()
    assert np.abs(np.asarray(full.data) - own).max() < 1e-4
    assert np.abs(found.values_at(cells) - own[tuple(cells.T)]).max() < 1e-4
    assert found.ranks == (tuple(ranks) if isinstance(ranks, list) else (3, 3, 3))


def test_a_planted_tensor_is_found_also_where_nobody_looked(planted):
    dense, cells, values = planted
    found = s3cmtf.factorize(cells, values, 3, epochs=60, seed=2).to_dense()
    assert np.sqrt(np.mean((found - dense) ** 2)) < 0.1 * dense.std()


@pytest.mark.parametrize("shape", [(50, 40, 30), (25, 20, 15, 12)])
@pytest.mark.parametrize("core", ["full", "diagonal"])
def test_an_exact_tensor_of_which_a_tenth_is_known_is_found_exactly(shape, core):
    for seed in range(2):
        random = np.random.default_rng(seed)
        dense = random.normal(size=(3,) * len(shape))
        if core == "diagonal":
            dense[np.ptp(np.indices(dense.shape), axis=0) > 0] = 0.0
        for mode, size in enumerate(shape):
            dense = np.moveaxis(np.tensordot(random.normal(size=(size, 3)), dense, axes=(1, mode)), 0, mode)
        seen = random.random(shape) < 0.1
        found = s3cmtf.factorize(np.argwhere(seen), dense[seen], 3, shape=shape, core=core).to_dense()
        assert np.linalg.norm((found - dense)[~seen]) < 1e-5 * np.linalg.norm(dense[~seen])


def test_what_is_not_exact_is_left_to_the_algorithm_that_was_asked_for(planted):
    _, cells, values = planted
    values = values + np.random.default_rng(1).normal(0, 0.1, len(values))
    plain = s3cmtf.factorize(cells, values, 3, epochs=10, algorithm="bayes")
    first = s3cmtf.factorize(cells, values, 3, epochs=10)
    assert np.array_equal(first.to_dense(), plain.to_dense())
    exact = s3cmtf.factorize(cells, values, 3, algorithm="als")
    assert exact.core.shape == (3, 3, 3) and np.isfinite(exact.to_dense()).all()


def test_a_noisy_tensor_has_a_diagonal_core_of_any_rank(planted):
    dense, cells, values = planted
    values = values + 2 + np.random.default_rng(1).normal(0, 0.1, len(values))
    # The mean, an offset for each of three modes, and two that interact.
    found = s3cmtf.factorize(cells, values, 6, core="diagonal")
    assert found.ranks == (6, 6, 6) and found.weights.shape == (6,)
    assert np.array_equal(found.factors[0][:, [0, 2, 3]], np.ones((30, 3)))
    assert np.sqrt(np.mean((found.to_dense() - 2 - dense) ** 2)) < 0.1
    for rank in (1, 2, 4):
        assert s3cmtf.factorize(cells, values, rank, core="diagonal", epochs=3).ranks == (rank,) * 3
    with pytest.raises(ValueError, match="from 5 to 408"):
        s3cmtf.factorize(cells, values, 4, core="diagonal", algorithm="bayes")
    model = s3cmtf.S3CMTF(core_kind="diagonal").fit(cells, values)
    assert model.core.ndim == 1 and np.isfinite(model.predict(cells, return_std=True)[1]).all()


def test_what_is_predicted_by_the_estimator_is_what_is_reconstructed(planted):
    _, cells, values = planted
    found = s3cmtf.factorize(cells, values, 3, epochs=10, algorithm="bayes")
    model = s3cmtf.S3CMTF(rank=3, epochs=10).fit(cells, values)
    assert np.abs(model.predict(cells) - found.values_at(cells)).max() < 1e-4


def test_a_sparse_tensor_brings_its_values_and_its_shape(planted):
    dense, cells, values = planted
    coo = sparse.COO(cells.T, values, shape=(40, 30, 9))
    found = s3cmtf.factorize(coo, ranks=3, epochs=5)
    assert found.shape == (40, 30, 9)
    # Rows that occur nowhere are the average one.
    assert np.allclose(found.factors[0][35], found.factors[0][:30].mean(axis=0), atol=1e-5)


def test_a_tensor_is_taken_in_whatever_people_hold_it(planted):
    dense, cells, values = planted
    words = {"epochs": 5, "algorithm": "bayes"}
    expected = s3cmtf.factorize(cells, values, 3, shape=dense.shape, **words).to_dense()
    seen = np.zeros(dense.shape, dtype=bool)
    seen[tuple(cells.T)] = True
    holes = np.where(seen, dense, np.nan)
    masked = np.ma.masked_array(dense, ~seen)
    sparse_of_pyttb = pyttb.sptensor(cells, values[:, None], dense.shape)
    tensors = [
        lambda: s3cmtf.factorize(holes, rank=3, **words),
        lambda: s3cmtf.factorize(holes, 3, **words),
        lambda: s3cmtf.factorize(holes, [3, 3, 3], **words),
        lambda: s3cmtf.factorize(dense, rank=3, mask=seen, **words),
        lambda: s3cmtf.factorize(dense, 3, mask=seen.astype(float), **words),
        lambda: s3cmtf.factorize(holes.tolist(), rank=3, **words),
        lambda: s3cmtf.factorize(masked, ranks=3, **words),
        lambda: s3cmtf.factorize(sparse_of_pyttb, rank=3, **words),
        lambda: s3cmtf.factorize(np.nonzero(seen), dense[seen], 3, shape=dense.shape, **words),
        lambda: s3cmtf.factorize(sparse.COO(cells.T, values, shape=dense.shape), 3, **words),
        lambda: s3cmtf.factorize(pyttb.tensor(np.asfortranarray(dense)), 3, mask=seen, **words),
    ]
    for tensor in tensors:
        # pyttb may have put the cells into another order, in which sums differ in their last digits.
        assert np.abs(tensor().to_dense() - expected).max() < 1e-3


def test_a_matrix_with_holes_is_one_and_a_matrix_of_coordinates_needs_values():
    matrix = np.outer(np.arange(1.0, 13.0), np.linspace(-1.0, 1.0, 10))
    holes = np.where(np.add.outer(np.arange(12), np.arange(10)) % 3 == 0, np.nan, matrix)
    for given in (holes, pd.DataFrame(holes)):
        assert np.abs(s3cmtf.factorize(given, rank=1).to_dense() - matrix).max() < 1e-4
    cells = pd.DataFrame(np.argwhere(np.isfinite(holes)))
    found = s3cmtf.factorize(cells, holes[np.isfinite(holes)], 1, shape=holes.shape).to_dense()
    assert np.abs(found - matrix).max() < 1e-4
    with pytest.raises(TypeError, match="give values, a number per cell"):
        s3cmtf.factorize(np.nonzero(np.isfinite(holes)), rank=1)


def test_what_is_wrong_with_a_tensor_is_said():
    dense = np.ones((4, 3, 2))
    for work, error, message in (
        (lambda: s3cmtf.factorize(dense, rank=2, mask=np.ones((4, 3))), ValueError, r"mask has the shape \(4, 3\)"),
        (lambda: s3cmtf.factorize(dense * np.nan, rank=2), ValueError, "no cell of the tensor is observed"),
        (lambda: s3cmtf.factorize(dense * np.inf, rank=2), ValueError, "those that are unknown are NaN"),
        (lambda: s3cmtf.factorize(dense, rank=2, ranks=2), TypeError, "give one of them"),
        (lambda: s3cmtf.factorize(dense, np.ones(24), 2), TypeError, "the tensor has values of its own"),
        (lambda: s3cmtf.factorize(([0, 1], [1]), [1.0, 2.0], 2), ValueError, "should be of one length"),
    ):
        with pytest.raises(error, match=message):
            work()


def test_a_coupled_matrix_helps_rows_that_the_tensor_does_not_have(planted):
    dense, cells, values = planted
    random = np.random.default_rng(4)
    group = np.arange(30) % 2
    truth = np.where(group[:, None, None] == 0, 1.0, -1.0) + np.zeros(dense.shape)
    known = cells[cells[:, 0] < 24]
    values = truth[tuple(known.T)] + random.normal(0, 0.05, len(known))
    matrix = scipy.sparse.coo_matrix((np.ones(30), (np.arange(30), group)))
    with_matrix = s3cmtf.factorize(known, values, 3, shape=dense.shape, couple=[(0, matrix, "zeros")], epochs=40).to_dense()
    without = s3cmtf.factorize(known, values, 3, shape=dense.shape, epochs=40).to_dense()
    error = [np.sqrt(np.mean((found[24:] - truth[24:]) ** 2)) for found in (with_matrix, without)]
    assert error[0] < 0.3 < 0.8 < error[1]


def test_wrong_coordinates_are_refused():
    for cells in ([[0, -1]], [[0.5, 1.0]], [[0, 2**40]]):
        with pytest.raises(ValueError, match="coords should be whole numbers"):
            s3cmtf.factorize(np.array(cells), [1.0], 2)
    with pytest.raises(ValueError, match="core cannot be"):
        s3cmtf.factorize(np.array([[0, 1], [1, 0]]), [1.0, 2.0], 2, core="round")
    with pytest.raises(ValueError, match="mode 1 has 2 indices but there are 3 values"):
        s3cmtf.factorize(np.array([[0, 1], [1, 0]]), [1.0, 2.0, 3.0], 2)


def test_a_coupled_matrix_has_a_factor_with_a_row_per_column():
    random = np.random.default_rng(3)
    cells = np.unique(random.integers(0, 20, size=(150, 2)), axis=0)
    kinds = scipy.sparse.coo_matrix((np.ones(20), (np.arange(20), np.arange(20) % 3)), shape=(20, 3))
    found = s3cmtf.factorize(cells, random.normal(size=len(cells)), 4, couple=[(1, kinds, "zeros")], epochs=5)
    assert [factor.shape for factor in found.coupled] == [(3, 4)]
