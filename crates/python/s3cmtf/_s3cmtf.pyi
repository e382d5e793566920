"""The private module: what the library gives, in plain values. Nothing of it is promised to stay."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, final, type_check_only

import numpy as np

_Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
_Ids: TypeAlias = np.ndarray[Any, np.dtype[np.uint32]]
_Indexed: TypeAlias = tuple[int, str, _Ids, _Ids, _Floats, float | None, str]
_Observe: TypeAlias = Callable[[str], bool]

__all__ = [
    "Couple",
    "Problem",
    "Run",
    "Table",
    "__version__",
    "ablate",
    "clusters",
    "concepts",
    "defaults",
    "evaluate",
    "instructions",
    "limit_memory",
    "load",
    "params",
    "parse_size",
    "profile",
    "recommend",
    "settings",
    "similar",
    "take_in",
    "train",
    "tune",
    "world",
    "write_report",
]

__version__: str

@type_check_only
class _Fetchable(Protocol):
    def fetch(self, most: int | None, /) -> tuple[str, np.ndarray[Any, Any], list[str] | None]: ...

@final
class Table:
    @staticmethod
    def files(paths: list[str], format: str | None, header: bool | None) -> Table: ...
    @staticmethod
    def arrow(name: str, stream: Any) -> Table: ...
    @staticmethod
    def columns(name: str, rows: int, columns: Sequence[tuple[str, _Fetchable]]) -> Table: ...
    def skipping(self, skip_empty: bool) -> Table: ...

@final
class Couple:
    def __new__(
        cls,
        mode: str,
        table: Table,
        columns: list[str],
        split: str | None,
        absent: str | None,
        weight: float | None,
        name: str | None,
    ) -> Couple: ...

@final
class Problem:
    @staticmethod
    def read(
        tensor: Table,
        modes: Sequence[str | int] | None,
        value: str | None,
        couple: list[Couple],
        duplicates: str | None,
        zeros: bool = ...,
        exchange: Any = ...,
    ) -> tuple[Problem, list[str]]: ...
    @staticmethod
    def of_indices(
        indices: list[_Ids], values: _Floats, sizes: list[int] | None, couple: list[_Indexed]
    ) -> tuple[Problem, list[str]]: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def __len__(self) -> int: ...
    def rows(self) -> list[int]: ...
    def modes(self) -> list[str]: ...

@final
class Run:
    def modes(self) -> list[str]: ...
    def columns(self) -> list[tuple[str, bool] | None]: ...
    def value(self) -> str | None: ...
    def mode(self, name: str) -> int: ...
    def names(self, mode: int) -> list[str]: ...
    def ids(self, mode: int) -> tuple[_Ids, int]: ...
    def factor(self, mode: int) -> tuple[_Floats, _Floats]: ...
    def core(self) -> _Floats: ...
    def coupled(self) -> list[tuple[str, int, str, float, float | None, list[str], _Floats]]: ...
    def record(self) -> str: ...
    def has_data(self) -> bool: ...
    def predict(
        self, cells: Table, at: list[tuple[int, str]], clip: bool | None, std: bool
    ) -> tuple[_Floats, _Floats | None, int]: ...
    def interval(
        self, cells: Table, at: list[tuple[int, str]], clip: bool | None, level: float
    ) -> tuple[_Floats, _Floats, int]: ...
    def export(self, folder: str | os.PathLike[str], format: str) -> list[str]: ...
    def save(self, folder: str | os.PathLike[str], data: bool) -> None: ...

def settings() -> list[str]: ...
def params(settings: dict[str, Any], preset: str | None) -> str: ...
def defaults() -> str: ...
def instructions() -> str: ...
def limit_memory(bytes: int | None) -> None: ...
def parse_size(text: str) -> int: ...
def load(folder: str | os.PathLike[str]) -> Run: ...
def train(
    problem: Problem,
    settings: dict[str, Any],
    preset: str | None,
    test: tuple[Table, str | None] | None,
    holdout: Any,
    init: Run | None,
    checkpoint: tuple[str, float | None] | None,
    resume: str | None,
    keep: bool,
    observe: _Observe | None,
    exact_first: bool = ...,
    exchange: Any = ...,
) -> tuple[Run, list[str]]: ...
def tune(
    problem: Problem,
    settings: dict[str, Any],
    preset: str | None,
    budget: float | None,
    holdout: float | None,
    matrices: int,
    observe: _Observe | None,
) -> str: ...
def ablate(run: Run, holdout: float | None) -> str: ...
def take_in(
    run: Run, tensor: Table | None, couple: list[Couple], value: str | None, update: bool
) -> tuple[Run, list[int], list[int], list[str]]: ...
def recommend(
    run: Run,
    by: int,
    entities: list[str] | None,
    items: int,
    n: int | None,
    at: list[tuple[int, str]],
    having: list[tuple[str, list[str]]],
    include_seen: bool,
    caution: float | None,
    score: str | None,
    clip: bool | None,
) -> tuple[_Ids, _Ids, _Floats, list[str]]: ...
def profile(run: Run, by: int, entity: str, items: int, at: list[tuple[int, str]], n: int | None) -> str: ...
def similar(run: Run, mode: int, entity: str, n: int | None, level: bool) -> str: ...
def clusters(
    run: Run, mode: int, k: int | None, most: int | None, n: int | None, seed: int | None, level: bool
) -> tuple[str, _Ids, _Floats]: ...
def concepts(run: Run, n: int | None) -> tuple[str, list[_Floats], _Floats]: ...
def evaluate(
    run: Run,
    entries: Table,
    value: str | None,
    clip: bool | None,
    more: tuple[int | None, int | None, int | None, float | None, float | None, str | None, bool] | None,
) -> str: ...
def world(
    users: int | None,
    businesses: int | None,
    months: int | None,
    ratings: int | None,
    noise: float | None,
    seed: int | None,
) -> tuple[list[tuple[list[_Ids], _Floats]], list[list[str]], list[_Ids], list[_Floats], float]: ...
def write_report(run: Run, path: str | os.PathLike[str], title: str) -> None: ...
