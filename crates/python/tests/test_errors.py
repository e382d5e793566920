"""What is wrong is said in the library's words, by the exception that a Python user expects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import s3cmtf

GOOD = {"user": [1, 1, 2, 3], "film": ["a", "b", "b", "a"], "stars": [5.0, 3.0, 2.0, 4.0]}
WORDS = {"modes": ["user", "film"], "value": "stars"}


def fit(data=None, params=None, **words):
    return s3cmtf.S3CMTF(**{"rank": 2, "epochs": 2, **(params or {})}).fit(
        GOOD if data is None else data, **{**WORDS, **words}
    )


@pytest.mark.parametrize(
    ("what", "exception", "words"),
    [
        (lambda folder: fit(folder / "no.csv"), FileNotFoundError, "no.csv: No such file"),
        (lambda folder: fit(folder), ValueError, "is a folder"),
        (lambda folder: fit(str(folder / "*.csv")), FileNotFoundError, "matches no file"),
        (lambda folder: s3cmtf.load(folder / "model"), FileNotFoundError, "there is no such folder"),
        (lambda folder: s3cmtf.load(folder), ValueError, "is not a model folder"),
        (lambda folder: fit().save(folder / "a" / "b"), FileNotFoundError, "create this folder first"),
        (lambda folder: fit(value="star"), KeyError, 'has no column "star", did you mean "stars"?'),
        (lambda folder: fit(modes=["user", "flim"]), KeyError, 'did you mean "film"?'),
        (lambda folder: fit(modes=["user", "film:mnth"]), ValueError, "mnth"),
        (lambda folder: fit(modes=["user"]), ValueError, "a tensor has 2 or more modes"),
        (lambda folder: fit(params={"rank": 0}), ValueError, "rank should be from 1 to 1024, but is 0"),
        (lambda folder: fit(params={"rank": 2.5}), ValueError, "ranks cannot be"),
        (lambda folder: fit(params={"epochs": -1}), ValueError, "epochs cannot be -1"),
        (lambda folder: fit(params={"epochs": "many"}), ValueError, "epochs cannot be"),
        (lambda folder: fit(params={"epochs": 2**70}), TypeError, "could be"),
        (lambda folder: fit(params={"seed": object()}), TypeError, "could be"),
        (
            lambda folder: fit(params={"rate": float("nan")}),
            ValueError,
            "rate should be above 0 and finite, but is NaN",
        ),
        (
            lambda folder: fit(params={"algorithm": "magic"}),
            ValueError,
            "it should be bayes, sgd, als, ials, cmtf-opt, cmtf-als, sals or tucker-als",
        ),
        (lambda folder: fit(params={"preset": "papre"}), ValueError, 'did you mean "paper"?'),
        (lambda folder: fit(params={"algorithm": "bayes", "rate": 0.1}), ValueError, "rate needs algorithm sgd"),
        (lambda folder: fit(params={"duplicates": "men"}), ValueError, "duplicates should be mean, last, sum or error"),
        (lambda folder: fit(params={"ranks": [2, 2]}), ValueError, "not both"),
        (
            lambda folder: fit(params={"rank": None, "ranks": 5}),
            TypeError,
            "ranks should be a list, but is 5: one rank for all",
        ),
        (
            lambda folder: fit({**GOOD, "stars": [1.0, 2.0]}),
            ValueError,
            "column 'stars' has 2 values, but there are 4 rows",
        ),
        (lambda folder: fit({**GOOD, "stars": [1.0, 2.0, float("inf"), 3.0]}), ValueError, "entry 3"),
        (lambda folder: fit({**GOOD, "stars": [1.0, 2.0, 1e300, 3.0]}), ValueError, "entry 3"),
        (lambda folder: fit({**GOOD, "stars": ["x", "y", "z", "w"]}), ValueError, "is not a finite number"),
        (lambda folder: fit({**GOOD, "stars": [1j, 2j, 3j, 4j]}), ValueError, "Complex data not supported"),
        (lambda folder: fit({name: [] for name in GOOD}), ValueError, "there is no row of data"),
        (
            lambda folder: fit(np.zeros((0, 2)), y=np.zeros(0), modes=None, value=None),
            ValueError,
            "there is no row of data",
        ),
        (lambda folder: fit(np.zeros(3), y=np.zeros(3), modes=None, value=None), ValueError, "Reshape your data"),
        (lambda folder: fit(couple=[s3cmtf.Coupled("flim", GOOD)]), KeyError, "there is no mode flim"),
        (lambda folder: fit(couple=[s3cmtf.Coupled("film", GOOD, absent="zero")]), ValueError, 'did you mean "zeros"?'),
        (lambda folder: fit(couple=[s3cmtf.Coupled("film", GOOD, columns=["film", "nothing"])]), KeyError, "nothing"),
        (
            lambda folder: fit(couple=[s3cmtf.Coupled("film", {"a": [1], "b": [2], "c": [3], "d": [4]})]),
            ValueError,
            "no column tells anything: b has the same value in each row",
        ),
        (
            lambda folder: fit(couple=[s3cmtf.Coupled("film", GOOD, columns=["film", "user"], weight=-1.0)]),
            ValueError,
            "weight should be 0 or more",
        ),
        (lambda folder: fit(couple=[s3cmtf.Coupled("film", np.zeros((2, 2)))]), TypeError, "scipy.sparse"),
        (lambda folder: fit(holdout=2.0), ValueError, "2"),
        (lambda folder: fit(eval_set={"user": [1], "film": ["a"]}), KeyError, "stars"),
        (lambda folder: fit().predict({"user": [1]}), KeyError, "film"),
        (
            lambda folder: fit().predict(np.zeros((2, 1))),
            ValueError,
            "X has 1 features, but S3CMTF is expecting 2 features",
        ),
        (lambda folder: fit().fold_in(GOOD), ValueError, "partial_fit takes in more about old ones"),
        (lambda folder: fit(init=fit(), params={"rank": 3}), ValueError, "as in the model to start from"),
        (lambda folder: fit(couple=[7]), TypeError, "couple should be a list of s3cmtf.Coupled, but has a int"),
    ],
)
def test_what_is_wrong_is_said(what, exception, words, tmp_path):
    with pytest.raises(exception) as error:
        what(tmp_path)
    assert words in str(error.value), str(error.value)


def test_a_line_of_a_file_is_named(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,film,stars\n1,a,2.5\n2,b,x\n")
    with pytest.raises(ValueError, match=r"ratings.csv:3: "):
        fit(path)
    with pytest.raises(FileNotFoundError, match=r"did you mean .*ratings\.csv"):
        fit(tmp_path / "rating.csv")


@pytest.fixture
def unlimited():
    yield
    s3cmtf.limit_memory(None)


def test_the_limit_of_memory_is_raised_by_what_the_message_names(tmp_path, unlimited):
    path = tmp_path / "ratings.csv"
    path.write_text("user,film,stars\n" + "".join(f"{row},{row % 7},{row % 5}\n" for row in range(20_000)))
    # What users choose is learnt from so many of them for longer than all else takes.
    params = {"without": ["choice"]}
    s3cmtf.limit_memory("1MB")
    with pytest.raises(ValueError, match=r"fits into 1 MB of memory \(s3cmtf\.limit_memory raises that limit\)"):
        fit(path, params)
    for enough in (1_000_000_000, "1GB", np.int64(10**9), None):
        s3cmtf.limit_memory(1)
        s3cmtf.limit_memory(enough)
        assert fit(path, params).record_["data"]["entries"] == 20_000


@pytest.mark.parametrize(
    ("memory", "exception", "words"),
    [
        ("lots", ValueError, "memory should be a size such as 800MB or 2GB, but is 'lots'"),
        (0, ValueError, "memory should be a whole number, 1 or more, but is 0"),
        (2.5, TypeError, "memory should be a whole number"),
    ],
)
def test_a_limit_of_memory_that_is_none_is_refused(memory, exception, words):
    with pytest.raises(exception) as error:
        s3cmtf.limit_memory(memory)
    assert words in str(error.value)


# Whatever is given, what comes out is a result or an exception, and never a panic, which is no Exception.
STRANGE = [
    None,
    0,
    "",
    b"x",
    [],
    {},
    (),
    object(),
    2**64,
    -1,
    float("nan"),
    np.zeros((2, 2, 2)),
    np.zeros((2, 0)),
    np.array([]),
    np.array([[np.nan, np.inf]]),
    [[1, 2], [3]],
    pd.DataFrame(),
    pd.DataFrame({"a": []}),
    {"a": 1},
    {1: [1], 2: [2]},
    pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
    np.array([["x", "y"]]),
    np.array([[None, 1]], dtype=object),
    {"user": [{}], "film": [[]], "stars": [set()]},
    pd.DataFrame({"user": [1], "film": [pd.Timedelta(1)], "stars": [1]}),
    {"user": [2**63], "film": [-(2**63)], "stars": [1]},
    {"user": ["\ud800"], "film": ["\0"], "stars": [1]},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strange", STRANGE, ids=range(len(STRANGE)))
def test_nothing_panics(strange):
    good = fit()
    attempts = [
        lambda: s3cmtf.S3CMTF(epochs=1).fit(strange),
        lambda: s3cmtf.S3CMTF(epochs=1).fit(strange, strange),
        lambda: s3cmtf.S3CMTF(epochs=1).fit(strange, **WORDS),
        lambda: fit(modes=strange),
        lambda: fit(value=strange),
        lambda: fit(couple=[s3cmtf.Coupled("film", strange)]),
        lambda: fit(couple=[s3cmtf.Coupled(strange, GOOD)]),
        lambda: fit(couple=[s3cmtf.Coupled("film", GOOD, columns=strange, weight=strange, split=strange)]),
        lambda: fit(eval_set=strange),
        lambda: fit(holdout=strange),
        lambda: good.predict(strange),
        lambda: good.score(strange, strange),
        lambda: good.recommend("user", strange, "film"),
        lambda: good.recommend(strange, 1, strange),
        lambda: good.recommend("user", 1, "film", n=strange),
        lambda: good.recommend("user", 1, "film", at={"film": strange}, where={"x": strange}),
        lambda: good.similar("user", strange, n=strange),
        lambda: good.clusters("user", k=strange),
        lambda: good.clusters("user", most=strange, n=strange, seed=strange),
        lambda: good.concepts(strange, n=strange),
        lambda: s3cmtf.factorize(strange, strange, strange),
        *[
            lambda name=name: fit(params={name: strange})
            for name in ("rank", "ranks", "epochs", "seed", "without", "n_threads", "rate", "l1")
        ],
    ]
    for attempt in attempts:
        try:
            attempt()
        except Exception as error:
            assert "has a fault" not in str(error), error
