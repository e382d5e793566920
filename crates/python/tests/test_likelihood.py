"""Yes or no, and counts: against scikit-learn where the model is a regression, and what is said to whom."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance, roc_auc_score

import s3cmtf

SIZES = (120, 60)


def world(kind: str, interactions: float, entries: int = 5000) -> tuple[pd.DataFrame, np.ndarray]:
    """Values of which the linear predictor is offsets, and if so asked interactions; and the means that were planted."""
    generator = np.random.default_rng(5)
    users, items = generator.normal(size=(SIZES[0], 3)), generator.normal(size=(SIZES[1], 3))
    user, item = np.divmod(generator.choice(SIZES[0] * SIZES[1], entries, replace=False), SIZES[1])
    linear = 0.7 * users[user, 0] + 0.7 * items[item, 0]
    linear += interactions * (users[user, 1:] * items[item, 1:]).sum(1)
    if kind == "logistic":
        means = 1 / (1 + np.exp(-linear))
        values = (generator.random(entries) < means).astype(int)
    else:
        means = np.exp(linear)
        values = generator.poisson(means)
    return pd.DataFrame({"user": user, "item": item, "value": values}), means


@functools.cache
def with_interactions(kind: str) -> tuple[s3cmtf.S3CMTF, pd.DataFrame, pd.DataFrame, np.ndarray]:
    """A model of the first entries, those, the others, and the means that were planted: several tests ask about it."""
    frame, means = world(kind, 0.8)
    train, test = frame[:4000], frame[4000:]
    model = s3cmtf.S3CMTF(likelihood=kind).fit(train, modes=["user", "item"], value="value")
    return model, train, test, means


def dummies(frame: pd.DataFrame) -> np.ndarray:
    return np.hstack([np.eye(SIZES[0])[frame["user"]], np.eye(SIZES[1])[frame["item"]]])


@pytest.mark.parametrize("kind", ["logistic", "counts"])
def test_where_the_model_is_a_regression_it_is_that_of_scikit_learn(kind: str) -> None:
    frame, means = world(kind, 0.0)
    train, test = frame[:4000], frame[4000:]
    model = s3cmtf.S3CMTF(rank=3, likelihood=kind).fit(train, modes=["user", "item"], value="value")
    found = model.predict(test)
    if kind == "logistic":
        peer = LogisticRegression(C=1.0, max_iter=1000).fit(dummies(train), train["value"])
        theirs = peer.predict_proba(dummies(test))[:, 1]
        score = log_loss
    else:
        peer = PoissonRegressor(alpha=1e-3, max_iter=1000).fit(dummies(train), train["value"])
        theirs = peer.predict(dummies(test))
        score = mean_poisson_deviance
    assert np.corrcoef(np.log(found), np.log(theirs))[0, 1] > 0.95
    assert score(test["value"], found) < score(test["value"], theirs) + 0.03
    best, mean = score(test["value"], means[4000:]), score(test["value"], np.full(1000, train["value"].mean()))
    assert score(test["value"], found) < best + 0.35 * (mean - best)


@pytest.mark.parametrize("kind", ["logistic", "counts"])
def test_interactions_are_what_a_regression_does_not_have(kind: str) -> None:
    model, train, test, _ = with_interactions(kind)
    found = model.evaluate(test)
    if kind == "logistic":
        peer = LogisticRegression(C=1.0, max_iter=1000).fit(dummies(train), train["value"])
        assert found.log_loss is not None and found.auc is not None
        assert found.log_loss < log_loss(test["value"], peer.predict_proba(dummies(test))[:, 1]) - 0.02
        predicted = model.predict(test)
        assert found.log_loss == pytest.approx(log_loss(test["value"], predicted), rel=1e-4)
        assert found.auc == pytest.approx(roc_auc_score(test["value"], predicted), rel=1e-4)
        assert found.deviance is None and found.within_std is None
    else:
        peer = PoissonRegressor(alpha=1e-3, max_iter=1000).fit(dummies(train), train["value"])
        assert found.deviance is not None
        assert found.deviance < mean_poisson_deviance(test["value"], peer.predict(dummies(test))) - 0.1
        assert found.deviance == pytest.approx(mean_poisson_deviance(test["value"], model.predict(test)), rel=1e-3)
        assert found.log_loss is None


@pytest.mark.parametrize("kind", ["logistic", "counts"])
def test_intervals_are_of_probabilities_and_of_counts(kind: str) -> None:
    model, _, test, means = with_interactions(kind)
    predicted = model.predict(test)
    low, high = model.predict_interval(test)
    if kind == "logistic":
        assert np.all((low > 0) & (low < predicted) & (predicted < high) & (high < 1))
        assert np.mean((low <= means[4000:]) & (means[4000:] <= high)) == pytest.approx(0.9, abs=0.07)
    else:
        assert np.all((low >= 0) & (low <= high) & (low % 1 == 0) & (high % 1 == 0))
        assert np.mean((low <= test["value"]) & (test["value"] <= high)) > 0.89
    wide = model.predict_interval(test, level=0.99)
    assert np.all((wide[0] <= low) & (high <= wide[1]))


def test_a_saved_model_predicts_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    frame, _ = world("counts", 0.5)
    model = s3cmtf.S3CMTF(rank=3, likelihood="counts", epochs=40).fit(frame, modes=["user", "item"], value="value")
    model.save(tmp_path / "model")
    loaded = s3cmtf.load(tmp_path / "model")
    assert loaded.likelihood == "counts"
    np.testing.assert_array_equal(loaded.predict(frame[:50]), model.predict(frame[:50]))


def test_who_has_answers_or_counts_and_does_not_say_so_is_told() -> None:
    frame, _ = world("logistic", 0.0, 500)
    with pytest.warns(s3cmtf.Note, match="the values are 0 and 1: with the likelihood logistic"):
        s3cmtf.S3CMTF(rank=3, epochs=5).fit(frame, modes=["user", "item"], value="value")
    with pytest.raises(ValueError, match="the value is 2; the likelihood logistic needs 0 or 1"):
        s3cmtf.S3CMTF(likelihood="logistic").fit(frame.assign(value=2), modes=["user", "item"], value="value")
    with pytest.raises(ValueError, match=r"likelihood cannot be .*poisson"):
        s3cmtf.S3CMTF(likelihood="poisson").fit(frame, modes=["user", "item"], value="value")
