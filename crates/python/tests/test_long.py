"""Long work: callbacks, Ctrl-C, other threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import s3cmtf

# Enough for epochs of some tenths of a second.
LONG = """
import time, numpy as np, s3cmtf, sys
random = np.random.default_rng(1)
rows = int(sys.argv[1])
cells = np.column_stack([random.integers(0, n, rows) for n in (20000, 5000, 50)])
values = random.normal(size=rows)
"""


def test_callbacks_are_told_of_each_epoch_and_can_stop_the_run(world):
    seen, threads = [], []

    def look(epoch):
        seen.append(epoch)
        threads.append(threading.current_thread())
        return epoch.epoch == 4

    model = s3cmtf.S3CMTF(rank=3, epochs=50, callbacks=[look]).fit(world.train, **world.words)
    assert [epoch.epoch for epoch in seen] == [1, 2, 3, 4]
    assert model.n_iter_ == 4 and model.stop_ == "interrupted"
    assert all(thread is threading.main_thread() for thread in threads)
    assert [epoch.train_rmse for epoch in seen] == model.history["train_rmse"].tolist()
    again = s3cmtf.S3CMTF(rank=3, epochs=50, callbacks=[look]).fit(world.train, **world.words)
    assert np.array_equal(again.core, model.core)


def test_what_a_callback_raises_comes_out(world):
    def fail(epoch):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        s3cmtf.S3CMTF(rank=3, epochs=50, callbacks=[fail]).fit(world.train, **world.words)


@pytest.mark.parametrize("settings", [{}, {"patience": 5}, {"algorithm": "sgd", "deterministic": True}])
def test_a_run_goes_on_from_a_checkpoint_as_if_it_had_not_been_stopped(world, tmp_path, settings):
    settings = {"rank": 3, "epochs": 24, **settings}
    whole = s3cmtf.S3CMTF(**settings).fit(world.train, **world.words)
    folder = tmp_path / "run"
    stop = s3cmtf.S3CMTF(**settings, callbacks=[lambda epoch: epoch.epoch == 9])
    stop.fit(world.train, checkpoint=folder, checkpoint_every=0, **world.words)
    assert stop.n_iter_ == 9
    # Settings are those of the run, whether they are said or not; epochs that were over are not run again.
    for words in ({}, settings):
        epochs = []
        rest = s3cmtf.S3CMTF(**words, callbacks=[lambda epoch, seen=epochs: seen.append(epoch.epoch)])
        rest.fit(world.train, resume=folder, **world.words)
        assert epochs[0] == 9
        assert np.array_equal(rest.core, whole.core) and np.array_equal(rest.factors["user"], whole.factors["user"])
        assert rest.record_["summary"]["train_rmse"] == whole.record_["summary"]["train_rmse"]
    with pytest.raises(ValueError, match="resume goes on with the settings of the run: no others can be given"):
        s3cmtf.S3CMTF(rank=4).fit(world.train, resume=folder, **world.words)
    with pytest.raises(ValueError, match="the run to resume had other data"):
        s3cmtf.S3CMTF().fit(world.test, resume=folder, **world.words)
    with pytest.raises(ValueError, match="checkpoint_every should be seconds, 0 or more, but is -1"):
        stop.fit(world.train, checkpoint=folder, checkpoint_every=-1, **world.words)
    with pytest.raises(OSError, match="nowhere"):
        stop.fit(world.train, resume=tmp_path / "nowhere", **world.words)


FORK = """
import multiprocessing, numpy as np, s3cmtf
random = np.random.default_rng(1)
table = {"u": random.integers(0, 500, 20000), "i": random.integers(0, 200, 20000), "v": random.normal(size=20000)}
cells = np.column_stack([table["u"], table["i"]])

def work(seed):
    model = s3cmtf.S3CMTF(rank=3, epochs=2, seed=seed).fit(table, modes=["u", "i"], value="v")
    s3cmtf.make_world(users=60, businesses=30, months=3, ratings=900)
    tensor = s3cmtf.factorize(cells, table["v"], 2, epochs=1)
    s3cmtf.S3CMTF(epochs=2).tune(table, modes=["u", "i"], value="v", budget=0.5)
    return model.rmse(), model.recommend("u", 1, "i", n=3)["i"].tolist(), float(model.predict(table).sum()), tensor.core.sum()

here = [work(1), work(2)]
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map_async(work, [1, 2]).get(timeout=60) == here)
"""


def test_a_forked_process_has_threads_of_its_own():
    # What multiprocessing and servers do on Linux, after the package was used.
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "True", done.stderr


# What users choose would be learnt before the first epoch, for longer than all else takes.
@pytest.mark.parametrize(("algorithm", "more"), [("bayes", ', without=["choice"]'), ("sgd", "")], ids=["bayes", "sgd"])
def test_an_interrupt_returns_within_a_second_with_the_model_so_far(algorithm, more):
    code = (
        LONG
        + f"""
def ready(epoch):
    if epoch.epoch == 1:
        print("ready", flush=True)
model = s3cmtf.S3CMTF(rank=16, epochs=100000, algorithm="{algorithm}", callbacks=[ready], n_threads=1{more})
model.fit(cells, values)
print("stopped", model.stop_, model.n_iter_ > 0, np.isfinite(model.predict(cells[:10])).all(), flush=True)
"""
    )
    child = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, "400000"], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    start = time.monotonic()
    os.kill(child.pid, signal.SIGINT)
    line = child.stdout.readline()
    took = time.monotonic() - start
    child.wait(timeout=10)
    assert line == "stopped interrupted True True\n"
    assert took < 1.0


def test_another_thread_runs_meanwhile(world):
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    s3cmtf.S3CMTF(rank=8, epochs=60).fit(world.train, **world.words)
    spent = time.monotonic() - start
    done.set()
    thread.join()
    during = [tick for tick in ticks if start <= tick <= start + spent]
    # A thread that had to wait for training would have ticked twice.
    assert len(during) > 10 and max(np.diff(during)) < 0.5 * spent


def test_a_fit_in_another_thread_works(world):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(
            s3cmtf.S3CMTF(rank=3, epochs=3, callbacks=[lambda epoch: None]).fit(world.train, **world.words)
        )
    )
    thread.start()
    thread.join()
    assert np.array_equal(found[0].core, s3cmtf.S3CMTF(rank=3, epochs=3).fit(world.train, **world.words).core)


def test_any_number_of_threads_comes_to_the_same_model(world):
    one, two = (s3cmtf.S3CMTF(rank=3, epochs=5, n_threads=count).fit(world.train, **world.words) for count in (1, 2))
    assert np.array_equal(one.core, two.core)
    assert one.record_["threads"] == 1 and two.record_["threads"] == 2


def test_a_bar_is_shown_when_asked_for(world, capsys):
    s3cmtf.S3CMTF(rank=3, epochs=3, verbose=True).fit(world.train, **world.words)
    shown = capsys.readouterr().err
    assert "3/3" in shown and "RMSE train" in shown
    s3cmtf.S3CMTF(rank=3, epochs=3).fit(world.train, **world.words)
    assert capsys.readouterr().err == ""


def test_an_epoch_without_a_number_is_shown_and_does_not_hide_what_went_wrong(capsys):
    from s3cmtf._progress import Watcher

    seen = []
    for has_tqdm in (True, False):
        watcher = Watcher(3, True, [seen.append])
        if not has_tqdm:
            watcher._show = __import__("s3cmtf._progress", fromlist=["_Lines"])._Lines(3)
        assert not watcher('{"epoch": 1, "seconds": 1.0, "entries_per_second": 2.0, "train_rmse": null}')
        watcher.close()
    assert all(np.isnan(epoch.train_rmse) for epoch in seen) and "RMSE train nan" in capsys.readouterr().err
