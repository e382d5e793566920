"""The conventions of scikit-learn."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import s3cmtf
from s3cmtf import _s3cmtf
from s3cmtf._parameters import PARAMETER

# What does not apply, and why. A check that begins to pass must leave the list.
DOES_NOT_APPLY = {
    "check_fit2d_1feature": "it is refused, but in the library's words: a tensor has 2 or more modes, but this has 1",
    "check_requires_y_none": "y may be None: the values may be a column of X, or rows may be counted",
}


def test_the_parameters_are_the_librarys_settings():
    signature = inspect.signature(s3cmtf.S3CMTF.__init__).parameters
    settings = {PARAMETER.get(name, name) for name in _s3cmtf.settings()}
    assert settings <= set(signature)
    own = {"self", "rank", "modes", "value", "couple", "duplicates", "preset", "verbose", "callbacks", "keep_data"}
    assert set(signature) - settings == own


def test_the_constructor_keeps_what_it_is_given_and_clone_works():
    model = s3cmtf.S3CMTF(rank=7, modes=["user", "film"], seed=5, callbacks=[print])
    again = clone(model)
    assert again is not model and again.get_params() == model.get_params()
    assert again.set_params(rank=3).rank == 3 and model.rank == 7
    assert repr(model).startswith("S3CMTF(") and "rank=7" in repr(model) and "epochs" not in repr(model)
    with pytest.raises(ValueError, match="Invalid parameter 'ranked'"):
        model.set_params(ranked=3)
    assert is_regressor(model)


def test_nothing_can_be_asked_of_a_model_that_is_not_fitted():
    assert s3cmtf.NotFittedError is NotFittedError
    model = s3cmtf.S3CMTF()
    for ask in (
        lambda: model.predict(np.zeros((1, 2))),
        lambda: model.recommend("user", 1, "film"),
        lambda: model.factors,
        lambda: model.core,
        lambda: model.history,
        lambda: model.rmse(),
        lambda: model.save("nowhere"),
        lambda: model.report("nowhere.html"),
        lambda: model.clusters("user"),
        lambda: model.fold_in({}),
    ):
        with pytest.raises(NotFittedError):
            ask()
    assert not hasattr(model, "core_")


def test_without_scikit_learn_the_error_is_a_value_error_and_an_attribute_error():
    code = """
import sys
sys.modules["sklearn"] = None
sys.modules["sklearn.exceptions"] = None
import s3cmtf
try:
    s3cmtf.S3CMTF().core
except s3cmtf.NotFittedError as error:
    assert isinstance(error, ValueError) and isinstance(error, AttributeError)
    print("right")
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "right\n"


def test_numpy_is_all_that_is_needed():
    code = """
import sys
for name in ("pandas", "polars", "pyarrow", "scipy", "sparse", "sklearn", "tqdm", "tensorly"):
    sys.modules[name] = None
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in sys.modules and sys.modules[name] is None else find(name, package)
import numpy as np
import s3cmtf
table = {"user": ["a", "a", "b", "c"], "film": [1, 2, 2, 1], "stars": [5.0, 3.0, 2.0, 4.0]}
model = s3cmtf.S3CMTF(rank=2, epochs=5, verbose=True).fit(table, modes=["user", "film"], value="stars")
best = model.recommend("user", "b", "film")
assert isinstance(best, dict) and best["film"].tolist() == [1], best
assert isinstance(model.history["train_rmse"], np.ndarray)
print("right")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "right\n", done.stderr
    assert "epoch 5/5 RMSE train" in done.stderr


def test_importing_it_imports_none_of_the_libraries_that_it_can_do_without():
    code = "import sys, s3cmtf; print([m for m in ('pandas', 'polars', 'pyarrow', 'scipy', 'sklearn', 'tqdm') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_a_grid_is_searched_on_a_frame_of_coordinates(world):
    cells, stars = world.train[["user", "film", "date"]], world.train["stars"]
    model = s3cmtf.S3CMTF(epochs=40, modes=["user", "film", "date:month"])
    search = GridSearchCV(model, {"rank": [2, 6]}, cv=3).fit(cells, stars)
    assert search.best_params_ == {"rank": 6}
    assert search.best_score_ > 0.8
    # The scores are those of R^2 on predictions.
    assert search.best_estimator_.score(cells, stars) > 0.9
    scores = cross_val_score(s3cmtf.S3CMTF(rank=6, epochs=40), cells.assign(date=cells["date"].dt.month), stars, cv=3)
    assert scores.min() > 0.7


def test_it_is_the_last_step_of_a_pipeline(world):
    cells, stars = world.train[["user", "film", "date"]], world.train["stars"]
    steps = [
        ("month", FunctionTransformer(lambda frame: frame.assign(date=frame["date"].dt.month))),
        ("model", s3cmtf.S3CMTF(rank=5, epochs=40)),
    ]
    pipeline = Pipeline(steps).fit(cells, stars)
    assert pipeline.score(world.test[["user", "film", "date"]], world.test["stars"]) > 0.8


def test_scikit_learns_own_checks():
    # A rank of 2, since some checks have 20 columns, each of which is a mode: the core has 2^20 numbers.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(s3cmtf.S3CMTF(rank=2, epochs=5), on_fail=None, on_skip=None)
    failed = {result["check_name"]: repr(result["exception"])[:300] for result in results if result["status"] == "failed"}
    assert len(results) > 40
    surprising = {name: what for name, what in failed.items() if name not in DOES_NOT_APPLY}
    assert not surprising, surprising
    untrue = set(DOES_NOT_APPLY) - set(failed)
    assert not untrue, f"these pass, and must leave the list: {sorted(untrue)}"


def test_the_typed_example_runs():
    from typed_example import main

    assert main() < 2.0
