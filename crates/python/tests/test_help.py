"""What somebody reads who asks for help: defaults, names of other libraries, types, and messages in the words of Python."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import s3cmtf
from s3cmtf import _results, _s3cmtf
from s3cmtf._parameters import PARAMETER, SYNONYMS


def fit(data, params=None, **words):
    return s3cmtf.S3CMTF(**{"rank": 3, "epochs": 4, "seed": 1, **(params or {})}).fit(data, **words)


def default(method, name):
    return inspect.signature(method).parameters[name].default


def test_defaults_that_are_constant_are_in_the_signature_and_others_in_the_help():
    by_algorithm = [
        json.loads(_s3cmtf.params({"algorithm": algorithm}, preset))
        for algorithm, preset in ((None, None), ("sgd", None), ("als", None), (None, "paper"))
    ]
    signature = inspect.signature(s3cmtf.S3CMTF).parameters
    for name in by_algorithm[0]:
        values = [params[name] for params in by_algorithm]
        shown = signature[PARAMETER.get(name, name)].default
        if all(value == values[0] for value in values):
            assert shown == (tuple(values[0]) if isinstance(values[0], list) else values[0]), name
        else:
            assert shown is None, name
            # Each of them, and the only rank that is a list.
            for value in values:
                word = str(value[0] if isinstance(value, list) else value).removesuffix(".0")
                assert value is None or word in s3cmtf.S3CMTF.__doc__, (name, value)


def test_defaults_of_methods_are_those_of_the_library():
    usual = json.loads(_s3cmtf.defaults())
    model = s3cmtf.S3CMTF
    for method in (model.recommend, model.similar, model.profile, model.clusters):
        assert default(method, "n") == usual["n"]
    assert default(model.concepts, "n") == usual["concepts_n"]
    assert default(model.clusters, "most") == usual["most"] and default(model.clusters, "seed") == usual["seed"]
    assert default(model.tune, "budget") == usual["budget"] and default(model.tune, "holdout") == usual["tune_holdout"]
    assert default(model.ablate, "holdout") == usual["ablate_holdout"]
    assert default(model.fit, "checkpoint_every") == usual["checkpoint_every"]
    for name, value in usual["world"].items():
        assert default(s3cmtf.make_world, name) == value


def test_a_parameter_at_its_default_says_nothing(world):
    plain = fit(world.train, **world.words)
    said = {"decay": 0.1, "lambda_couple": 10.0, "l1": False, "core_kind": "full"}
    same = fit(world.train, {**said, "without": [], "n_threads": 0}, **world.words)
    assert same.record_["params"]["algorithm"] == "bayes" and np.array_equal(same.core, plain.core)
    assert repr(s3cmtf.S3CMTF(decay=0.1, without=[], rank=2)) == "S3CMTF(rank=2)"
    assert fit(world.train, {"decay": 0.2}, **world.words).record_["params"]["algorithm"] == "sgd"


@pytest.mark.parametrize("name", sorted(SYNONYMS))
def test_names_of_other_libraries_name_ours(name):
    with pytest.raises(TypeError, match=f"there is no parameter '{name}': it is {SYNONYMS[name]} here"):
        s3cmtf.S3CMTF(**{name: 3})
    with pytest.raises(ValueError, match=f": it is {SYNONYMS[name]} here"):
        s3cmtf.S3CMTF().set_params(**{name: 3})
    assert SYNONYMS[name] in inspect.signature(s3cmtf.S3CMTF).parameters


def test_a_mistyped_parameter_has_a_hint():
    with pytest.raises(TypeError, match=r"there is no parameter 'epoch': did you mean epochs\?"):
        s3cmtf.S3CMTF(epoch=3)
    with pytest.raises(TypeError, match=r"there is no parameter 'random_state': it is seed here"):
        s3cmtf.factorize(np.array([[0, 1], [1, 0]]), [1.0, 2.0], 2, random_state=1)


GOOD = {"user": [1, 1, 2, 3], "film": ["a", "b", "b", "a"], "stars": [5.0, 3.0, 2.0, 4.0]}
WORDS = {"modes": ["user", "film"], "value": "stars"}


@pytest.mark.parametrize(
    ("what", "exception", "message"),
    [
        (lambda m: m.recommend("user", 1, "film", n=-1), ValueError, "n should be a whole number, 0 or more, but is -1"),
        (lambda m: m.recommend("user", 1, "film", n=2.5), TypeError, "n should be a whole number, 0 or more, but is 2.5"),
        (lambda m: m.recommend("user", 1, "film", caution="x"), TypeError, "caution should be a number, but is 'x'"),
        (lambda m: m.similar("user", 1, n=-1), ValueError, "n should be a whole number, 0 or more, but is -1"),
        (lambda m: m.concepts(n=-1), ValueError, "n should be a whole number, 0 or more, but is -1"),
        (lambda m: m.clusters("user", k=-2), ValueError, "k should be a whole number, 0 or more, but is -2"),
        (lambda m: m.evaluate(GOOD, k=0), ValueError, "k should be a whole number, 1 or more, but is 0"),
        (
            lambda m: fit(GOOD, holdout=("leave", "user", -1), **WORDS),
            ValueError,
            "the count of holdout should be a whole number, 1 or more, but is -1",
        ),
        (
            lambda m: fit(GOOD, holdout="some", **WORDS),
            ValueError,
            'holdout should be a share, ("last", mode, share) or ("leave", mode, count), but is \'some\'',
        ),
        (
            lambda m: fit(GOOD, {"callbacks": 5}, **WORDS),
            TypeError,
            "callbacks should be a function or a list of functions, but is 5",
        ),
        (
            lambda m: fit(GOOD, {"epochs": -1}, **WORDS),
            ValueError,
            "epochs cannot be -1: it should be a whole number, 0 or more",
        ),
        (
            lambda m: fit(GOOD, {"n_threads": -1}, **WORDS),
            ValueError,
            "n_threads cannot be -1: it should be a whole number, 0 or more",
        ),
        (
            lambda m: fit(GOOD, {"n_threads": 5000}, **WORDS),
            ValueError,
            "n_threads should be from 0 (all cores) to 1024, but is 5000",
        ),
        (
            lambda m: fit(GOOD, {"core_kind": "diagnal"}, **WORDS),
            ValueError,
            'core_kind cannot be "diagnal": it should be full or diagonal, did you mean "diagonal"?',
        ),
        (
            lambda m: fit(GOOD, {"algorithm": "magic"}, **WORDS),
            ValueError,
            'algorithm cannot be "magic": it should be bayes, sgd, als, ials, cmtf-opt, cmtf-als, sals or tucker-als',
        ),
        (
            lambda m: fit(GOOD, {"lambda_reg": -1.0}, **WORDS),
            ValueError,
            "lambda_reg should be 0 or more and finite, but is -1",
        ),
        (
            lambda m: fit(GOOD, {"l1": "yes"}, **WORDS),
            ValueError,
            'l1 cannot be "yes": it should be true or false',
        ),
        (
            lambda m: fit(GOOD, couple=s3cmtf.Coupled("film", GOOD, split=3), **WORDS),
            TypeError,
            "split should be a text such as '|', but is 3",
        ),
        (lambda m: s3cmtf.make_world(users=-1), ValueError, "users should be a whole number, 0 or more, but is -1"),
    ],
)
def test_messages_are_in_the_words_of_python(what, exception, message):
    with pytest.raises(exception) as error:
        what(fit(GOOD, **WORDS))
    assert str(error.value) == message
    assert not re.search(r"usize|u64|i64|f64|PyTuple|variant|--\w", str(error.value))


def test_one_function_is_a_callback(world):
    seen = []
    fit(world.train, {"callbacks": lambda epoch: seen.append(epoch.epoch)}, **world.words)
    assert seen == [1, 2, 3, 4]


def test_a_pivoted_frame_is_refused_in_a_few_words(world):
    means = world.train.groupby(["user", "film"])["stars"].mean()
    wide = pd.concat([means.unstack().fillna(0.5)] * 40, axis=1)
    wide.columns = [f"Film {place}" for place in range(wide.shape[1])]
    with pytest.raises(ValueError, match="where columns are entities of a mode") as error:
        fit(wide)
    assert len(str(error.value)) < 1500


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_missing_values_are_counted_and_the_remedy_is_named(world, library):
    frame = world.train.head(100).copy()
    frame.loc[[3, 8, 9], "stars"] = np.nan
    frame.loc[[4, 5], "film"] = None
    data = frame if library == "pandas" else pl.from_pandas(frame)
    more = r"100 rows \(skip_empty=True leaves rows with None or NaN out\)"
    with pytest.raises(ValueError, match=rf'entry 4: column "stars": the value is missing, as in 3 of {more}'):
        fit(data, modes=["user", "date:month"], value="stars")
    with pytest.raises(ValueError, match=rf'entry 5: column "film": the value is missing, as in 2 of {more}'):
        fit(data, modes=["user", "film"])
    with pytest.warns(s3cmtf.Note, match="5 of 100 rows have an empty cell and are left out, the first is row 4"):
        model = fit(data, modes=["user", "film"], value="stars", skip_empty=True)
    whole = frame.dropna(subset=["stars", "film"])
    same = fit(whole if library == "pandas" else pl.from_pandas(whole), modes=["user", "film"], value="stars")
    assert model.predict(whole).tolist() == same.predict(whole).tolist()


def notes(work) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [str(note.message) for note in found if issubclass(note.category, s3cmtf.Note)]


def test_data_that_are_all_ones_say_what_is_missing(world, command, tmp_path):
    pairs = world.train[["user", "film"]].drop_duplicates()
    missing = "predicts 1 everywhere: there are no negative examples"
    for work in (
        lambda: fit(pairs, modes=["user", "film"]),
        lambda: fit(pairs.assign(seen=1), modes=["user", "film"], value="seen"),
        lambda: fit(pairs, y=np.ones(len(pairs)), modes=["user", "film"]),
        lambda: s3cmtf.factorize(np.array([[0, 1], [1, 0], [1, 1]]), np.ones(3), 2, epochs=2),
    ):
        assert sum(missing in note for note in notes(work)) == 1
    assert not any(missing in note for note in notes(lambda: fit(world.train, **world.words)))
    path = tmp_path / "pairs.csv"
    pairs.to_csv(path, index=False)
    words = [command.path, "fit", str(path), "--modes", "user,film", "--epochs", "2"]
    assert missing in subprocess.run(words, capture_output=True, text=True, check=True).stderr


def test_after_patience_the_history_has_a_validation_curve(world):
    for more in ({}, {"eval_set": world.test}):
        model = fit(world.train, {"epochs": 60, "patience": 2}, **world.words, **more)
        curve = model.validation_curve_
        assert len(curve) > model.n_iter_ or model.stop_ in ("epochs", "tolerance")
        assert model.history["validation_rmse"].tolist() == curve[: model.n_iter_].tolist()
        assert model.record_["summary"]["best_epoch"] == model.n_iter_
        assert model.plot._history().lines["validation"][: len(curve)] == curve.tolist()
    assert len(fit(world.train, **world.words).validation_curve_) == 0


def test_dictionaries_have_the_keys_that_their_types_say(world, fitted, tmp_path):
    def keys(kind):
        return kind.__required_keys__, kind.__required_keys__ | kind.__optional_keys__

    def holds(one, kind):
        required, known = keys(kind)
        assert required <= set(one) <= known, (kind, sorted(one))

    clusters = fitted.clusters("film")
    holds(clusters.described[0], _results.Cluster)
    holds(clusters.described[0]["typical"][0], _results.Scored)
    holds(clusters.described[0]["marks"][0], _results.Marks)
    holds(clusters.described[0]["marks"][0]["columns"][0], _results.Mark)
    holds(clusters.gap, _results.GapCurve)
    holds(clusters.gap["gaps"][0], _results.Gap)
    concepts = fitted.concepts()
    for concept in concepts.described:
        holds(concept, _results.Concept)
    holds(concepts.interactions[0], _results.Interaction)
    ranking = fitted.evaluate(world.test).ranking
    holds(ranking, _results.Ranking)
    holds(ranking["popular"], _results.Measures)
    for epoch in s3cmtf.factorize(np.array([[0, 1], [1, 0], [1, 1]]), [1.0, 2.0, 3.0], 2, epochs=2).history:
        holds(epoch, _results.EpochRecord)


def test_items_have_one_of_several_columns(world, fitted):
    wanted = set(world.genres.loc[world.genres["genre"].isin(["Crime", "Drama"]), "film"])
    for several in (["Crime", "Drama"], ("Crime", "Drama"), np.array(["Crime", "Drama"])):
        found = fitted.recommend("user", 100, "film", n=100, where={"genre": several}, include_seen=True)
        assert set(found["film"]) == wanted


def test_what_is_recommended_is_predicted_within_the_range_unless_asked_for_raw():
    random = np.random.default_rng(1)
    users, films = np.repeat(np.arange(60), 40), np.tile(np.arange(40), 60)
    level = random.normal(0, 1.5, 60)[users] + random.normal(0, 1.5, 40)[films]
    table = pd.DataFrame({"user": users, "film": films, "stars": np.clip(np.round(3 + level), 1, 5)}).sample(
        1200, random_state=1
    )
    model = s3cmtf.S3CMTF(rank=3, epochs=40).fit(table, modes=["user", "film"], value="stars")
    shown = model.recommend("user", None, "film", n=5)
    raw = model.recommend("user", None, "film", n=5, clip=False)
    assert raw["predicted_stars"].max() > 5.0 == shown["predicted_stars"].max()
    assert np.allclose(shown["predicted_stars"], raw["predicted_stars"].clip(1, 5), atol=1e-6)
    assert shown[["user", "film", "reason"]].equals(raw[["user", "film", "reason"]])
    assert np.allclose(model.predict(shown[["user", "film"]]), shown["predicted_stars"], atol=1e-4)


def test_columns_that_are_numbers_are_told_of_with_their_matrix(world):
    films = world.genres.assign(age=18 + 2 * pd.factorize(world.genres["genre"])[0])
    couple = [s3cmtf.Coupled("film", films[["film", "age"]], absent="zeros")]
    model = fit(world.train, {"epochs": 20}, couple=couple, **world.words)
    about = " ".join(concept["about"] for concept in model.concepts("film").described if not concept["level"])
    assert re.fullmatch(r"(age=\d\d ?)+", about), about
    assert re.search(r"age=\d\d x\d", repr(model.clusters("film", k=4)))
