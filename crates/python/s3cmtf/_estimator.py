"""The estimator."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np

from . import _s3cmtf
from ._checks import functions, hold_out, number, switch, text
from ._clustered import fit_on_cluster
from ._coupled import Coupled, natives
from ._discovery import Discovery
from ._errors import Note, not_fitted_error, tell
from ._evaluation import Evaluated
from ._fitted import Fitted
from ._later import Later
from ._parameters import PARAMETER, Parameters, is_same, parameters, usual, with_our_names
from ._parts import Array
from ._plot import Plot
from ._progress import Epoch, Watcher
from ._saved import Saved
from ._tables import Given, given, sparse_cells, surprises

logger = logging.getLogger("s3cmtf")

FitInput = Any
"""A table: pandas, polars, pyarrow, a dict of arrays, an array, ``sparse.COO``, a path or pattern, or several paths."""


class S3CMTF(Fitted, Discovery, Evaluated, Later, Saved, Parameters):
    """Sparse coupled matrix-tensor factorization: a Tucker or CP model of a sparse tensor and of matrices that share a mode with it.

    The default algorithm, ``"bayes"``, is Gibbs sampling: the model is the posterior mean of the samples, and predictions have a
    predictive standard deviation. ``"sgd"`` is the stochastic gradient descent of the S3CMTF paper, ``"als"`` alternating least squares.

    A parameter that is None has a default that depends on others, as described below. Those marked *sgd* are for stochastic gradient
    descent, which is selected if one of them differs from its default.

    Parameters
    ----------
    rank, ranks : one rank for all modes, or one for each; ``"auto"`` infers one for each. None is ``"auto"`` in bayes, else 10.
    modes : the columns that are the modes, such as ``["user", "movie", "timestamp:month"]``; ``fit`` may say others.
        None infers unambiguous columns, and takes all columns where there is a ``y``. ``:month`` (``year``, ``week``, ``day``,
        ``hour``, ``hour-of-day``, ``day-of-week``) bins times, ``:bins=20`` and ``:quantiles=20`` bin numbers, and
        ``name=column`` renames a mode. Times with a time zone are binned in local time of that zone.
    value : the column of values, where they are not ``y``; with modes and without values, rows are counted.
    couple : matrices that share a mode with the tensor, see :class:`Coupled`.
    duplicates : how to merge cells that occur more than once: mean, last, sum or error. None is mean, and sum where rows are counted.
    preset : the set of defaults, which the other parameters override: ``"default"``; ``"paper"``, the algorithm and settings of the
        paper; or ``"paper-movielens"``, ``"paper-netflix"`` or ``"paper-yelp"``, with its rank and rate for that data set.
    core_kind : full (Tucker) or diagonal (CP), which it is in cmtf-opt, cmtf-als and sals. In a CP model of bayes the first columns are
        the mean and an offset per mode, so that the rank
        is at least the number of modes plus 2; those of sgd and als have no such columns.
    algorithm : bayes, sgd, or als, which recovers a tensor that has exactly the given ranks; ials, for implicit feedback; or a method that the S3CMTF paper compares
        with: cmtf-opt, cmtf-als and sals, which are CP, and tucker-als. None is bayes, or sgd with a parameter that only sgd has,
        and ials with ``absent="zeros"``.
    without : bayes: components of the model to ablate, to see what each contributes.
    likelihood : bayes: how values lie around what is predicted: gaussian; logistic for values 0 and 1, so that predictions are
        probabilities; or counts (negative binomial) for whole numbers, so that they are expected counts.
    tolerance : bayes and sgd: stop when the relative change of the RMSE falls below this. 0 never stops. None is 0.001 in bayes with a
        Gaussian likelihood and without zeros, else 0.
    method, scheme, start, rate, decay, l1, nonnegative, deterministic : sgd. If they are None, ``method`` is fast (opt in
        ``"paper"``, or naive), ``scheme`` blocks (lock-free in ``"paper"``), ``start`` mean (random in ``"paper"``), and ``rate``
        fitted to the data (0.001 in ``"paper"``).
    shuffle, core_update, small_modes, zeros_update : sgd: what the paper does otherwise. When entries are shuffled: once, or
        every-epoch; who updates the core: averaged copies, or one-thread; rows of small modes: private copies, or shared;
        coupled matrices with zeros: an implicit step, or per-cell. None is the first of each, and the second in ``"paper"``.
    absent : what absent cells of the tensor are: ``"missing"``, or ``"zeros"`` for implicit feedback: an entry is a choice, whatever
        its value, and what was not chosen counts as a zero of less weight. In ials they are always zeros. With ``algorithm="bayes"``
        values stay as they are, and absent cells have the value 0.
    absent_weight, confidence : what an absent cell counts against one that is there. ials: above 0 and below 1; None finds it on held-out
        choices. bayes: up to 1, which is what None stands for. In ials, a choice of value v counts 1 + ``confidence`` v.
    start, absent, optimizer, block, weighted : cmtf-opt, cmtf-als, sals, tucker-als. ``start`` may be offsets, too. ``absent``: what absent
        cells of the tensor are, missing or zeros (not in sals). ``optimizer``: lbfgs or cg in cmtf-opt. ``block``: how many columns sals
        solves for at a time, and ``weighted``: whether its regularization of a row grows with the row's entries.
    lambda_reg, lambda_couple : not in bayes. ``lambda_reg`` is 5, 0.1 in ``"paper"`` and 1 in als if it is None; ials finds it on
        held-out choices.
    epochs : the maximum number of epochs (bayes: Gibbs sweeps). None is 120 in bayes, 500 in als, 100 in cmtf-opt, else 50.
    orthogonal : whether to orthogonalize the factors after training. None is False, and True in ``"paper"``.
    patience : early stopping after so many epochs without a better RMSE on held-out entries; None never stops.
    n_threads : threads; 0 is all cores.
    instructions : the SIMD instruction set of training; None is the best that the machine has.
    device : what the draws of bayes are computed on: auto, cpu, or an NVIDIA GPU: cuda, or cuda:N for the one of number N. auto takes a
        GPU where there is one and the problem is large enough.
    seed : the random seed.
    verbose : whether to show progress.
    callbacks : functions, or one, that are called with each :class:`Epoch`, and stop the run by returning true.
    keep_data : whether the model keeps the training data, which ``recommend`` (to leave out seen items), ``report`` and others use.

    Examples
    --------
    >>> import s3cmtf
    >>> ratings = {"user": ["ann", "ann", "bob", "cem", "cem"], "film": ["A", "B", "B", "A", "B"], "stars": [5, 3, 2, 4, 1]}
    >>> model = s3cmtf.S3CMTF(rank=2, epochs=20).fit(ratings, modes=["user", "film"], value="stars")
    >>> model.predict({"user": ["bob"], "film": ["A"]}).shape
    (1,)
    >>> model.factors["film"].shape
    (2, 2)
    """

    @with_our_names
    def __init__(
        self,
        rank: int | Literal["auto"] | None = None,
        *,
        ranks: Sequence[int] | None = None,
        modes: Sequence[str | int] | str | None = None,
        value: str | int | None = None,
        couple: Sequence[Coupled] | Coupled | None = None,
        duplicates: str | None = None,
        preset: str = "default",
        core_kind: str = "full",
        algorithm: str | None = None,
        without: Sequence[str] = (),
        likelihood: str = "gaussian",
        method: str | None = None,
        scheme: str | None = None,
        shuffle: str | None = None,
        core_update: str | None = None,
        small_modes: str | None = None,
        zeros_update: str | None = None,
        deterministic: bool = False,
        start: str | None = None,
        absent: str = "missing",
        absent_weight: float | None = None,
        confidence: float = 0.0,
        optimizer: str = "lbfgs",
        block: int = 10,
        weighted: bool = False,
        epochs: int | None = None,
        rate: float | None = None,
        decay: float = 0.1,
        lambda_reg: float | None = None,
        lambda_couple: float = 10.0,
        l1: bool = False,
        nonnegative: bool = False,
        orthogonal: bool | None = None,
        tolerance: float | None = None,
        patience: int | None = None,
        n_threads: int = 0,
        instructions: str | None = None,
        device: str = "auto",
        seed: int = 1,
        verbose: bool = False,
        callbacks: Sequence[Callable[[Epoch], Any]] | Callable[[Epoch], Any] | None = None,
        keep_data: bool = True,
    ) -> None:
        self.rank = rank
        self.ranks = ranks
        self.modes = modes
        self.value = value
        self.couple = couple
        self.duplicates = duplicates
        self.preset = preset
        self.core_kind = core_kind
        self.algorithm = algorithm
        self.without = without
        self.likelihood = likelihood
        self.method = method
        self.scheme = scheme
        self.shuffle = shuffle
        self.core_update = core_update
        self.small_modes = small_modes
        self.zeros_update = zeros_update
        self.deterministic = deterministic
        self.start = start
        self.absent = absent
        self.absent_weight = absent_weight
        self.confidence = confidence
        self.optimizer = optimizer
        self.block = block
        self.weighted = weighted
        self.epochs = epochs
        self.rate = rate
        self.decay = decay
        self.lambda_reg = lambda_reg
        self.lambda_couple = lambda_couple
        self.l1 = l1
        self.nonnegative = nonnegative
        self.orthogonal = orthogonal
        self.tolerance = tolerance
        self.patience = patience
        self.n_threads = n_threads
        self.instructions = instructions
        self.device = device
        self.seed = seed
        self.verbose = verbose
        self.callbacks = callbacks
        self.keep_data = keep_data

    def fit(
        self,
        X: FitInput,
        y: Any = None,
        *,
        modes: Sequence[str | int] | str | None = None,
        value: str | int | None = None,
        couple: Sequence[Coupled] | Coupled | None = None,
        eval_set: Any = None,
        holdout: Any = None,
        skip_empty: bool = False,
        init: S3CMTF | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 600.0,
        resume: str | os.PathLike[str] | None = None,
        cluster: str | None = None,
        workers: int | None = None,
        threads_per_worker: int | None = None,
        memory_per_worker: int | None = None,
    ) -> S3CMTF:
        """Fits the model.

        Parameters
        ----------
        X : a table with a row per observed cell: pandas, polars, pyarrow, a dict of arrays, an array of coordinates,
            ``sparse.COO``, a path or a pattern, or several paths. With ``absent="zeros"`` also a matrix of ``scipy.sparse``.
        y : the values, where they are not a column of ``X``.
        modes, value, couple : in place of those of the constructor.
        eval_set : a test set, as ``X`` or as ``(X, y)``, whose RMSE is in the history; it does not influence training.
        holdout : a fraction of the entries to hold out, or ``("last", mode, share)``, or ``("leave", mode, count)``.
        skip_empty : skips rows in which a value or an id is missing (None, NaN, an empty text, NULL), and reports how many.
        init : a fitted model for a warm start.
        checkpoint, checkpoint_every : a folder in which to save checkpoints, and the interval in seconds; ``save`` may take the
            same folder.
        resume : the folder of a checkpoint to resume from, with its settings; the data have to be given again. The result is the
            same as without the interruption.

        cluster, workers, threads_per_worker, memory_per_worker : a Ray cluster whose workers share the fit, by its address; ``"auto"`` is
            the one that the program runs in, or a new one on this machine. ``X`` are files then that all workers reach, and
            ``checkpoint`` a folder or an address likewise; see :func:`s3cmtf.cluster.fit`.

        Ctrl-C stops early and keeps the model so far.

        >>> import s3cmtf
        >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
        >>> s3cmtf.S3CMTF(rank=2, epochs=3).fit(films, modes=["user", "film"], value="stars").n_iter_
        3
        """
        if cluster is None and not (workers is None and threads_per_worker is None and memory_per_worker is None):
            raise ValueError('workers, threads_per_worker and memory_per_worker are for a cluster: say cluster="auto"')
        if cluster is not None:
            said: dict[str, Any] = {
                "modes": modes if modes is not None else self.modes,
                "value": value if value is not None else self.value,
                "couple": couple if couple is not None else self.couple,
                "test": eval_set,
                "skip_empty": bool(skip_empty),
                "holdout": hold_out(holdout),
                "checkpoint": checkpoint,
                "checkpoint_every": number("checkpoint_every", checkpoint_every),
                "address": cluster,
                "workers": workers,
                "threads_per_worker": threads_per_worker,
                "memory_per_worker": memory_per_worker,
            }
            settings, preset = self._settings(), self._preset()
            epochs = json.loads(_s3cmtf.params(settings, preset))["epochs"]
            shown = Watcher(epochs, bool(self.verbose), functions("callbacks", self.callbacks))
            said |= {
                "settings": settings,
                "preset": preset,
                "duplicates": text("duplicates", self.duplicates, "mean"),
                "observe": shown,
            }
            try:
                run, table = fit_on_cluster(X, said, {"y": y, "init": init, "resume": resume})
            finally:
                shown.close()
            self._take(run, table)
            return self
        problem, table, heading = self._read(X, y, modes, value, couple, skip_empty)
        test = None if eval_set is None else self._entries(eval_set, list(table.kinds or []), heading, skip_empty)
        resolved = json.loads(_s3cmtf.params(self._settings(), self._preset()))
        callbacks = functions("callbacks", self.callbacks)
        watcher = Watcher(resolved["epochs"], bool(self.verbose), callbacks)
        start = None if init is None else init._fitted()
        observe = watcher if self.verbose or callbacks else None
        kept = None if checkpoint is None else (os.fspath(checkpoint), number("checkpoint_every", checkpoint_every))
        begun = None if resume is None else os.fspath(resume)
        settings, preset, keep = self._settings(), self._preset(), bool(self.keep_data)
        held = hold_out(holdout)
        try:
            run, notes = _s3cmtf.train(problem, settings, preset, test, held, start, kept, begun, keep, observe)
        finally:
            watcher.close()
        tell(notes)
        self._take(run, table)
        if self.stop_ == "interrupted" and not watcher.stopped:
            warnings.warn("interrupted; the model so far was kept", Note, stacklevel=2)
        return self

    def _read(
        self,
        X: FitInput,
        y: Any,
        modes: Sequence[str | int] | str | None,
        value: str | int | None,
        couple: Sequence[Coupled] | Coupled | None,
        skip_empty: bool = False,
    ) -> tuple[_s3cmtf.Problem, Given, str | None]:
        zeros = self.absent == "zeros" or self.algorithm == "ials"
        if y is None and zeros:
            X, y = sparse_cells(X)
        table, heading = given(X, "X", y)
        said = modes if modes is not None else self.modes
        if isinstance(said, str):
            said = [mode.strip() for mode in said.split(",")]
        chosen: list[str | int] | None = None if said is None else [table.mode(mode) for mode in said]
        if chosen is None and heading is not None and table.order is not None:
            chosen = list(range(table.order - 1))
        named = value if value is not None else self.value
        column = heading if heading is not None else None if named is None else table.column(named)
        matrices = natives(couple if couple is not None else self.couple, list(table.labels.values()))
        duplicates = text("duplicates", self.duplicates, "mean")
        cells = table.table.skipping(bool(skip_empty))
        problem, notes = _s3cmtf.Problem.read(cells, chosen, column, matrices, duplicates, zeros)
        modes_said = None if said is None else [str(mode) for mode in chosen or []]
        tell([*notes, *surprises(problem, table.kinds, modes_said, column)])
        return problem, table, column

    def _entries(
        self, data: Any, headings: list[str], value: str | None, skip_empty: bool = False
    ) -> tuple[_s3cmtf.Table, str | None]:
        """Entries whose modes are known, as X or (X, y), and the heading of their values."""
        if isinstance(data, list) and len(data) == 1 and isinstance(data[0], tuple):
            # As boosting libraries take it.
            data = data[0]
        X, y = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
        table, heading = given(X, "eval_set", y, headings[:-1] if y is not None else headings)
        return table.table.skipping(bool(skip_empty)), heading or value

    def _settings(self) -> dict[str, Any]:
        """What was said, by the names of the library."""
        if self.rank is not None and self.ranks is not None:
            raise ValueError("rank is one rank for all modes, ranks has one for each: not both")
        settings = {name: self._said(PARAMETER.get(name, name)) for name in _s3cmtf.settings()}
        if self.rank is not None:
            settings["ranks"] = self.rank if isinstance(self.rank, str) else [self.rank]
        is_auto = isinstance(settings["ranks"], str) and settings["ranks"] == "auto"
        lists = ("without",) if is_auto else ("ranks", "without")
        for name in lists:
            if settings[name] is not None and np.ndim(settings[name]) == 0:
                hint = ": one rank for all modes is rank" if name == "ranks" else ""
                raise TypeError(f"{name} should be a list, but is {settings[name]!r}{hint}")
        return {name: list(said) if name in lists and said is not None else said for name, said in settings.items()}

    def _said(self, name: str) -> Any:
        """A parameter, or None where it is what it is by default: that says nothing, neither of the algorithm."""
        said = getattr(self, name)
        return None if is_same(said, USUAL[name]) else said

    def _preset(self) -> str | None:
        return text("preset", self.preset, "paper")

    def _take(self, run: _s3cmtf.Run, table: Given | None) -> None:
        """Takes over a run; everything that ends in an underscore comes from it."""
        self._run = run
        record = json.loads(run.record())
        self.record_ = record
        self.modes_ = run.modes()
        self.n_iter_ = record["summary"]["epochs"]
        self.stop_ = record["summary"]["stop"]
        self.n_features_in_ = len(self.modes_)
        if table is not None:
            self._library = table.library
            columns = [column[0] if column is not None else None for column in run.columns()]
            kinds = table.kinds or {}
            self._kinds = {mode: kinds.get(column or "") for mode, column in zip(self.modes_, columns, strict=True)}
            if table.library in ("pandas", "polars") and not table.labels:
                self.feature_names_in_ = np.array(columns, dtype=object)

    def _fitted(self) -> _s3cmtf.Run:
        run = self.__dict__.get("_run")
        if run is None:
            raise not_fitted_error()(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")
        found: _s3cmtf.Run = run
        return found

    def _cells(self, X: Any) -> _s3cmtf.Table:
        run = self._fitted()
        table, _ = given(X, "X", None, self._headings(run))
        self._check_width(table, len(run.modes()))
        return table.table

    def _check_width(self, table: Given, order: int, heading: str | None = None) -> None:
        """Refuses arrays of other widths: their columns have no names to be found by. One is of values, if it has a heading."""
        width = (table.order or 0) - (heading is not None)
        if table.library == "numpy" and width != order:
            raise ValueError(f"X has {width} features, but {type(self).__name__} is expecting {order} features as input")

    @staticmethod
    def _headings(run: _s3cmtf.Run) -> list[str]:
        """What the columns of an array are called, which has no headings of its own."""
        return [column[0] if column is not None else str(place + 1) for place, column in enumerate(run.columns())]

    @overload
    def predict(
        self, X: Any, *, return_std: Literal[False] = False, clip: bool | None = None, at: Mapping[str, Any] | None = None
    ) -> Array: ...

    @overload
    def predict(
        self, X: Any, *, return_std: Literal[True], clip: bool | None = None, at: Mapping[str, Any] | None = None
    ) -> tuple[Array, Array]: ...

    def predict(
        self, X: Any, *, return_std: bool = False, clip: bool | None = None, at: Mapping[str, Any] | None = None
    ) -> Array | tuple[Array, Array]:
        """The predicted value of each cell; with ``return_std`` also its predictive standard deviation.

        ``at={"date": "2017-05"}`` gives the entity of modes that X has no column for; the default for a mode of times is its average.

        An entity that does not occur in the training data is predicted as the average one of its mode. Predictions of ``bayes`` are
        clipped to the range of the training values unless ``clip`` is False; those of ``sgd`` and ``als`` only if it is True.

        >>> import s3cmtf
        >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
        >>> model = s3cmtf.S3CMTF(rank=2, epochs=20).fit(films, modes=["user", "film"], value="stars")
        >>> values, std = model.predict({"user": [2], "film": ["A"]}, return_std=True)
        >>> values.shape, bool(std[0] > 0)
        ((1,), True)
        """
        values, stds, unknown = self._fitted().predict(self._cells(X), self._others(at), switch(clip), bool(return_std))
        _note_unknown(unknown, len(values))
        return values if stds is None else (values, stds)

    def predict_interval(
        self, X: Any, *, level: float = 0.9, clip: bool | None = None, at: Mapping[str, Any] | None = None
    ) -> tuple[Array, Array]:
        """The bounds, low and high, between which the value of each cell lies with probability ``level``.

        Of ratings and measurements that is the prediction and so many standard deviations below and above it. Counts have whole bounds
        from 0 on, between which at least that share lies. Of yes or no, which is always 0 or 1, it is the *probability* of 1 that lies between the bounds.

        ``clip`` and ``at`` are those of ``predict``; ``clip`` is about the prediction in the middle, not about the bounds.

        >>> import s3cmtf
        >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
        >>> model = s3cmtf.S3CMTF(rank=2, epochs=20).fit(films, modes=["user", "film"], value="stars")
        >>> low, high = model.predict_interval({"user": [2], "film": ["A"]}, level=0.8)
        >>> bool(low[0] < model.predict({"user": [2], "film": ["A"]})[0] < high[0])
        True
        """
        said = number("level", level)
        if said is None:
            raise TypeError("level should be a number above 0 and below 1, but is None")
        low, high, unknown = self._fitted().interval(self._cells(X), self._others(at), switch(clip), said)
        _note_unknown(unknown, len(low))
        return low, high

    @property
    def plot(self) -> Plot:
        """Plots of the model: ``plot.history()``, ``plot.concepts(mode)``, ``plot.core()``, ``plot.clusters(mode)``."""
        self._fitted()
        return Plot(self)


def _note_unknown(unknown: int, cells: int) -> None:
    if unknown:
        words = f"{unknown} of {cells} cells have an entity that is not in the model; the average entity is used"
        # New entities come all the time; where most are new, a column may be of another kind than it was.
        if 2 * unknown > cells:
            warnings.warn(words, Note, stacklevel=3)
        else:
            logger.info(words)


USUAL = usual(S3CMTF)
"""The parameters as they are by default."""


def load(folder: str | os.PathLike[str]) -> S3CMTF:
    """Loads a model that ``save`` or the command has saved, with its settings as parameters."""
    run = _s3cmtf.load(os.fspath(folder))
    model = S3CMTF()
    model._take(run, None)
    model._load_kinds(folder)
    params = model.record_["params"]
    # What goes without saying is not said, so that other parameters can be set without being at odds with it.
    usual = json.loads(_s3cmtf.params({}, None))
    if params["algorithm"] != usual["algorithm"]:
        model.algorithm = params["algorithm"]
        usual = json.loads(_s3cmtf.params({"algorithm": params["algorithm"]}, None))
    return model.set_params(**parameters({name: said for name, said in params.items() if said != usual[name]}))


def convert(
    X: FitInput,
    path: str | os.PathLike[str],
    y: Any = None,
    *,
    modes: Sequence[str | int] | str | None = None,
    value: str | int | None = None,
    couple: Sequence[Coupled] | Coupled | None = None,
    duplicates: str | None = None,
) -> None:
    """Checks data once and writes them, with all coupled matrices, as one file that ``fit`` and the command load fast.

    >>> import os, tempfile, s3cmtf
    >>> films = {"user": [1, 1, 2, 3, 3], "film": ["A", "B", "B", "A", "B"], "stars": [5.0, 3.0, 2.0, 4.0, 1.0]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "films.s3cmtf")
    ...     s3cmtf.convert(films, path, modes=["user", "film"], value="stars")
    ...     s3cmtf.S3CMTF(rank=2, epochs=3).fit(path).modes_
    ['user', 'film']
    """
    problem, _, _ = S3CMTF(duplicates=duplicates)._read(X, y, modes, value, couple)
    problem.save(os.fspath(path))
