"""The methods that the S3CMTF paper compares with, against TensorLy's from the same start."""

from __future__ import annotations

import numpy as np
import pytest
import tensorly
from tensorly.decomposition import coupled_matrix_tensor_3d_factorization, tucker

import s3cmtf

SHAPE = (6, 5, 4)
MODES = ["c", "b", "a"]


@pytest.fixture(scope="module")
def dense():
    random = np.random.default_rng(11)
    return random.normal(size=SHAPE).astype(np.float32), random.normal(size=(SHAPE[2], 3)).astype(np.float32)


def table(tensor):
    cells = np.argwhere(np.ones_like(tensor, bool))
    return {**{mode: cells[:, place] for place, mode in enumerate(MODES)}, "x": tensor[tuple(cells.T)]}


def rebuilt(model, tensor):
    return model.predict({mode: column for mode, column in table(tensor).items() if mode != "x"}).reshape(tensor.shape)


def go_on(first, model, data, **words):
    return model.fit(data, modes=MODES, value="x", init=first, **words)


@pytest.mark.parametrize("absent", ["missing", "zeros"])
def test_tucker_als_is_higher_order_orthogonal_iteration(dense, absent):
    tensor, _ = dense
    settings = {"algorithm": "tucker-als", "start": "random", "absent": absent, "rank": 2}
    first = s3cmtf.S3CMTF(epochs=1, **settings).fit(table(tensor), modes=MODES, value="x")
    ours = rebuilt(go_on(first, s3cmtf.S3CMTF(epochs=6, **settings), table(tensor)), tensor)
    factors = [np.asarray(first.factors[mode], dtype=float) for mode in MODES]
    core = tensorly.tenalg.multi_mode_dot(tensor.astype(float), [factor.T for factor in factors])
    theirs = tucker(tensor.astype(float), rank=[2, 2, 2], init=(core, factors), n_iter_max=6, tol=0)
    assert np.abs(tensorly.tucker_to_tensor(theirs) - ours).max() < 1e-3


def test_cmtf_als_is_the_coupled_factorization_of_acar_kolda_and_dunlavy(dense):
    tensor, matrix = dense
    cells = np.argwhere(np.ones_like(matrix, bool))
    side = s3cmtf.Coupled(
        "a",
        {"a": cells[:, 0], "column": cells[:, 1], "y": matrix[tuple(cells.T)]},
        absent="missing",
        columns=["a", "column", "y"],
        weight=1.0,
    )
    settings = {"algorithm": "cmtf-als", "start": "random", "rank": 2, "lambda_reg": 0.0}
    first = s3cmtf.S3CMTF(epochs=2, **settings).fit(table(tensor), modes=MODES, value="x", couple=side)
    ours = rebuilt(go_on(first, s3cmtf.S3CMTF(epochs=5, **settings), table(tensor), couple=side), tensor)
    # Theirs solves for the first mode last, and is coupled to it.
    factors = [np.asarray(first.factors[mode], dtype=float) for mode in reversed(MODES)]
    turned = tensor.astype(float).transpose()
    theirs, _, _ = coupled_matrix_tensor_3d_factorization(
        turned, matrix.astype(float), 2, init=tensorly.cp_tensor.CPTensor((None, factors)), n_iter_max=5, tol=0
    )
    assert np.abs(tensorly.cp_to_tensor(theirs).transpose() - ours).max() < 1e-3


@pytest.mark.parametrize("algorithm", ["cmtf-opt", "cmtf-als", "sals", "tucker-als"])
def test_their_models_are_ordinary_ones(algorithm, tmp_path):
    random = np.random.default_rng(5)
    ratings = {
        "user": random.integers(0, 20, 300),
        "film": random.integers(0, 15, 300),
        "stars": random.integers(1, 6, 300).astype(float),
    }
    model = s3cmtf.S3CMTF(rank=3, algorithm=algorithm, epochs=5)
    model.fit(ratings, modes=["user", "film"], value="stars", holdout=0.2)
    assert len(model.recommend("user", 3, "film", n=4)) == 4
    model.save(tmp_path / "model")
    again = s3cmtf.load(tmp_path / "model")
    cells = {"user": [1, 2], "film": [3, 4]}
    assert np.array_equal(model.predict(cells), again.predict(cells))
