"""A real cluster of Ray: three nodes on the loopback address."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import ray

import s3cmtf
from s3cmtf import _s3cmtf, batch, cluster
from s3cmtf.cluster import __main__ as flags
from s3cmtf.cluster._files import Checkpoints, expanded, pieces
from s3cmtf.cluster._table import table


@pytest.fixture(scope="module")
def nodes():
    """Three nodes of two processors each."""
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    others = [started.add_node(num_cpus=2) for _ in range(2)]
    ray.init(address=started.address, logging_level="warning", log_to_driver=False)
    yield started, others
    ray.shutdown()
    started.shutdown()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ratings in seven files, of which no two have the same users, and genres."""
    folder = tmp_path_factory.mktemp("cluster")
    random = np.random.default_rng(7)
    rows = 12_000
    users, films = random.integers(0, 300, rows), random.integers(0, 80, rows)
    frame = pd.DataFrame(
        {
            "user": [f"u{user}" for user in users],
            "film": films,
            "time": pd.to_datetime("2019-03-01") + pd.to_timedelta(random.integers(0, 400, rows), unit="D"),
            "stars": np.round(3 + np.sin(users) * np.cos(films) + 0.3 * random.normal(size=rows), 1),
        }
    )
    for part, (_, own) in enumerate(frame.groupby(users * 7 // 300)):
        own.to_parquet(folder / f"part-{part}.parquet", index=False)
    frame.to_parquet(folder / "all.parquet", index=False, row_group_size=1000)
    # A film that has no rating is known by its genres alone.
    genres = [["Drama", "Comedy", "Drama|Western", "Comedy|Drama"][film % 4] for film in range(83)]
    pd.DataFrame({"film": range(83), "genres": genres}).to_csv(folder / "films.csv", index=False)
    return folder


MODES = ["user", "film", "time:month"]
SETTINGS = {"ranks": [4], "epochs": 44, "seed": 3}


@pytest.fixture(scope="module")
def expected(data: Path) -> s3cmtf.S3CMTF:
    """The model of one machine."""
    couple = s3cmtf.Coupled("film", str(data / "films.csv"))
    files = sorted(str(path) for path in data.glob("part-*.parquet"))
    return s3cmtf.S3CMTF(rank=4, epochs=44, seed=3).fit(files, modes=MODES, value="stars", couple=couple)


def same(one: s3cmtf.S3CMTF, other: s3cmtf.S3CMTF) -> bool:
    """Whether models have the same names and numbers, to the bit."""
    names = all(list(one.names(mode)) == list(other.names(mode)) for mode in one.modes_)
    numbers = all(np.array_equal(one.factors[mode], other.factors[mode]) for mode in one.modes_)
    cells = pd.DataFrame({"user": ["u1", "u2"], "film": [3, 82], "time": pd.to_datetime(["2019-05-01", "2020-01-02"])})
    predictions = [model.predict(cells, return_std=True) for model in (one, other)]
    # What people choose is in the lists, and offsets are what a model is compared with.
    lists = [model.recommend("user", ["u1", "u7"], "film", include_seen=True, score="both") for model in (one, other)]
    rated = cells.assign(stars=[3.0, 4.0])
    offsets = [model.evaluate(rated).offsets_rmse for model in (one, other)]
    same_lists = lists[0].equals(lists[1]) and offsets[0] == offsets[1]
    return (
        same_lists
        and names
        and numbers
        and np.array_equal(one.core, other.core)
        and np.array_equal(*map(np.array, predictions))
    )


def shared(data: Path, out: Path, files: str = "part-*.parquet", **more: object) -> s3cmtf.S3CMTF:
    couple = s3cmtf.Coupled("film", str(data / "films.csv"))
    words = {"modes": MODES, "value": "stars", "couple": couple, "settings": SETTINGS, "address": "auto", **more}
    model, usage = cluster.fit(str(data / files), out=out, **words)
    assert model is None and all(one["seconds"] > 0 for one in usage)
    return s3cmtf.load(out)


def test_three_nodes_come_to_the_model_of_one_machine(nodes, data: Path, expected: s3cmtf.S3CMTF, tmp_path: Path) -> None:
    assert same(shared(data, tmp_path / "three", workers=3, threads_per_worker=1), expected)
    # Other parts, more threads, row groups of one file.
    assert same(shared(data, tmp_path / "two", "all.parquet", workers=2, threads_per_worker=2), expected)


def worker_processes(what: bytes = b"ray::Worker.fit") -> list[int]:
    """Ray gives its processes the names of what they do."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        # Others may end at any time.
        with contextlib.suppress(OSError):
            if path.read_bytes().startswith(what):
                found.append(int(path.parent.name))
    return found


def test_addresses_are_read_and_written_as_paths_are(nodes, data: Path, expected: s3cmtf.S3CMTF, tmp_path: Path) -> None:
    # A store that needs no network; what is done with it is done with all others.
    here, there = data.as_uri(), tmp_path.as_uri()
    couple = s3cmtf.Coupled("film", f"{here}/films.csv")
    words = {"modes": MODES, "value": "stars", "couple": couple, "settings": SETTINGS, "checkpoint_every": 0}
    words |= {"workers": 2, "threads_per_worker": 1}
    cluster.fit(f"{here}/part-*.parquet", out=f"{there}/model", checkpoint=f"{there}/kept", **words)
    model = s3cmtf.load(tmp_path / "model")
    assert same(model, expected) and (tmp_path / "kept" / "newest").exists()
    rows = batch.predict(f"{there}/model", f"{here}/all.parquet", out=f"{there}/cells", workers=1, threads_per_worker=1)
    assert rows == 12_000 and len(list((tmp_path / "cells").glob("*.parquet"))) == 12


def test_a_killed_worker_and_a_removed_node_lose_nothing(nodes, data: Path, expected: s3cmtf.S3CMTF, tmp_path: Path) -> None:
    started, others = nodes
    settings = {**SETTINGS, "epochs": 44}
    killed: list[int] = []

    def observe(text: str) -> bool:
        if '"epoch":12,' in text and not killed:
            killed.append(max(worker_processes()))
            os.kill(killed[0], signal.SIGKILL)
        if '"epoch":30,' in text and len(killed) == 1:
            killed.append(0)
            started.remove_node(others.pop(), allow_graceful=False)
        return False

    model = shared(
        data,
        tmp_path / "model",
        workers=3,
        threads_per_worker=1,
        checkpoint=tmp_path / "kept",
        checkpoint_every=0,
        settings=settings,
        observe=observe,
    )
    assert len(killed) == 2
    assert same(model, expected)


def test_the_same_call_goes_on_where_everything_was_lost(nodes, data: Path, expected: s3cmtf.S3CMTF, tmp_path: Path) -> None:
    class Gone(Exception):
        pass

    def observe(text: str) -> bool:
        if '"epoch":25,' in text:
            raise Gone
        return False

    kept = tmp_path / "kept"
    with pytest.raises(Gone):
        shared(
            data, tmp_path / "model", workers=2, threads_per_worker=1, checkpoint=kept, checkpoint_every=0, observe=observe
        )
    seen: list[str] = []
    model = shared(
        data,
        tmp_path / "model",
        workers=1,
        threads_per_worker=2,
        checkpoint=kept,
        checkpoint_every=0,
        observe=lambda text: seen.append(text),
    )
    assert '"epoch":20,' not in seen[0] and len(seen) < 44 - 15
    assert same(model, expected)


def test_what_cannot_be_done_is_said(nodes, data: Path, tmp_path: Path) -> None:
    files = str(data / "part-*.parquet")
    words = {"modes": MODES, "value": "stars", "settings": {"epochs": 2}}
    with pytest.raises(RuntimeError, match="do not fit into the cluster"):
        cluster.fit(files, workers=50, threads_per_worker=2, **words)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        cluster.fit(str(data / "nothing-*.parquet"), **words)
    with pytest.raises(TypeError, match="should be files"):
        cluster.fit(pd.DataFrame(), **words)
    with pytest.raises(ValueError, match="bayes, where nodes share the entries"):
        cluster.fit(files, workers=1, modes=MODES, value="stars", settings={"algorithm": "sgd"})


def test_pieces_are_files_or_row_groups(data: Path) -> None:
    files = expanded([str(data / "part-*.parquet"), str(data / "part-0.parquet")])
    assert len(files) == 7
    by_file = pieces([str(data / "part-*.parquet")], 3)
    assert sorted(piece.path for own in by_file for piece in own) == files
    by_group = pieces([str(data / "all.parquet")], 5)
    groups = [group for own in by_group for piece in own for group in piece.groups]
    assert len(by_group) == 5 and groups == list(range(12))


def test_a_checkpoint_that_was_changed_is_refused(tmp_path: Path) -> None:
    checkpoints, folder = Checkpoints(str(tmp_path / "kept")), tmp_path / "own"
    assert checkpoints.newest() is None
    folder.mkdir()
    (folder / "numbers").write_text("1 2 3")
    checkpoints.put(str(folder), "first")
    newest = checkpoints.newest()
    back = checkpoints.get(str(tmp_path), newest)
    assert (Path(back) / "numbers").read_text() == "1 2 3"
    archive = tmp_path / "kept" / "first.tar"
    archive.write_bytes(archive.read_bytes().replace(b"1 2 3", b"1 2 4"))
    with pytest.raises(ValueError, match="not the checkpoint that was written"):
        checkpoints.get(str(tmp_path), newest)


def test_flags_are_those_of_the_command() -> None:
    line = "fit a.csv -o m --rank 4,4 --core diagonal --without choice,row-noise --epochs 9 --tolerance 0.01 --orthogonal"
    found = flags.settings(flags.parser().parse_args(line.split()))
    expected = {"ranks": [4, 4], "core": "diagonal", "without": ["choice", "row-noise"], "epochs": 9}
    assert found == {**expected, "tolerance": 0.01, "orthogonal": True}
    assert set(found) <= set(_s3cmtf.settings())
    assert flags.settings(flags.parser().parse_args(["fit", "a.csv", "--out", "m", "--ranks", "auto"])) == {"ranks": "auto"}


def test_the_table_names_whom_others_waited_for() -> None:
    rows = [
        {"node": node, "seconds": 9.0, "loading_seconds": 1.0, "exchange_seconds": wait, "sent": 12_345}
        for node, wait in enumerate([3.0, 0.5, 2.0])
    ]
    rows = [{**row, "received": 5e6, "memory": 7e9} for row in rows]
    lines = table(rows).splitlines()
    assert lines[0].split()[:2] == ["worker", "seconds"]
    assert "12.3 kB" in lines[1] and "5.0 MB" in lines[1] and "7.0 GB" in lines[1]
    assert "worker 2" in lines[-1]


def test_batches_are_what_the_model_predicts_and_recommends(
    nodes, data: Path, expected: s3cmtf.S3CMTF, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    expected.save(model)
    # Row groups, and files without values.
    cells = pd.read_parquet(data / "all.parquet").drop(columns="stars")
    cells.head(100).to_csv(tmp_path / "few.csv", index=False)
    files = [data / "all.parquet", tmp_path / "few.csv"]
    seen: list[int] = []
    words = {"workers": 2, "threads_per_worker": 1}
    count = batch.predict(model, files, out=tmp_path / "cells", std=True, interval=0.8, observe=seen.append, **words)
    assert count == len(cells) + 100 == seen[-1] and len(seen) == 13
    parts = sorted((tmp_path / "cells").iterdir())
    assert len(parts) == 13 and not [part for part in parts if part.suffix != ".parquet"]
    found = pd.concat([pd.read_parquet(part) for part in parts], ignore_index=True)
    given = pd.concat([cells, cells.head(100)], ignore_index=True)
    values, stds = expected.predict(given, return_std=True)
    # Cells that are predicted together share sums: with others, they may differ in the last digit.
    low = expected.predict_interval(given, level=0.8)[0]
    for column, wanted in {"predicted_stars": values, "std": stds, "low": low}.items():
        assert np.allclose(found[column], wanted, rtol=1e-6, atol=0), column
    assert list(found["user"]) == list(given["user"])

    rows = batch.recommend(model, "user", "film", out=tmp_path / "lists", n=3, **words)
    lists = pd.concat([pd.read_parquet(part) for part in sorted((tmp_path / "lists").iterdir())], ignore_index=True)
    wanted = expected.recommend("user", None, "film", n=3)
    assert rows == len(lists) == len(wanted)
    for column in ("user", "film", "rank", "predicted_stars", "reason"):
        assert list(lists[column]) == list(wanted[column]), column


def test_a_batch_loses_nothing_with_a_worker(nodes, data: Path, expected: s3cmtf.S3CMTF, tmp_path: Path) -> None:
    model, killed = tmp_path / "model", []
    expected.save(model)

    def kill(_: int) -> None:
        if not killed:
            killed.append(max(worker_processes(b"ray::Answers")))
            os.kill(killed[0], signal.SIGKILL)

    cells = pd.read_parquet(data / "all.parquet")
    words = {"workers": 2, "threads_per_worker": 1, "observe": kill}
    assert batch.predict(model, data / "all.parquet", out=tmp_path / "cells", **words) == len(cells)
    found = pd.concat([pd.read_parquet(part) for part in sorted((tmp_path / "cells").glob("*.parquet"))], ignore_index=True)
    assert killed and np.allclose(found["predicted_stars"], expected.predict(cells), rtol=1e-6, atol=0)


def test_what_is_wrong_with_a_batch_is_a_sentence(nodes, data: Path, expected: s3cmtf.S3CMTF, tmp_path: Path) -> None:
    model = tmp_path / "model"
    expected.save(model, data=False)
    words = {"out": tmp_path / "out", "workers": 1, "threads_per_worker": 1}
    with pytest.raises(ValueError, match="training data are not with the model"):
        batch.recommend(model, "user", "film", entities=["u1"], **words)
    with pytest.raises((KeyError, ValueError), match="user"):
        batch.predict(model, data / "films.csv", **words)
