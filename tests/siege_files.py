"""The files of tests/siege.py: those that are as they should be, and what becomes of them."""

import gzip
import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

BASES = [
    "ratings.csv", "ratings.tsv", "ratings.dat", "ratings.tns", "ratings.mtx", "ratings.npz", "ratings.npy", "ratings.parquet",
    "ratings.csv.gz", "ratings.s3cmtf", "items.csv", "yelp_review.json", "yelp_business.json", "yelp_user.json",
]
# What a terminal obeys, what a parser stumbles over, and what a number is not.
TOKENS = [
    b"\x1b[31m", b"\x1b]0;title\x07", b"\x9b31m", b"\xc2\x9b31m", b"\x00", b"\x07", b"\x08", b"\r", b"\n", b"\r\n", b"\"", b"\"\"", b",", b";",
    b"::", b"\t", b"|", b"#", b"NaN", b"inf", b"-inf", b"1e999", b"-0", b"0x10", b"007", b"+7", b"NULL", b"\\N", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\xf0\x9f\x98\x80", b"\xe2\x80\xae", b"\xed\xa0\x80", b"99999999999999999999", b"4294967296", b"-1", b"0", b"3.4e39", b"1e-400",
    b"=cmd|' /C calc'!A0", b"2017-02-30", b"1970-01-01T00:00:00Z", b"user,item,stars\n", b"{", b"}", b"[", b"]", b"null", b"%%MatrixMarket",
    b"\\u001b", b"\x7f", b"../../etc/passwd", b"%s%n", b"'; --", b"<script>alert(1)</script>",
]


def rows(rng: random.Random, count: int) -> list[tuple[str, str, str, str]]:
    cells = {(rng.randrange(20), rng.randrange(15), rng.randrange(6)) for _ in range(count)}
    return [(f"u{u}", f"Film {i}", f"2017-{t + 1:02}-11", f"{rng.randrange(2, 11) / 2}") for u, i, t in sorted(cells)]


def npy(values: list, kind: str, code: str) -> bytes:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}{code}", *values)


def base_files(folder: Path) -> None:
    """Writes files that the command takes; what it converts to itself is not among them."""
    rng = random.Random(7)
    table = rows(rng, 300)
    heading = ("user", "item", "date", "stars")

    def text(between: str, lines: list[tuple[str, ...]]) -> str:
        return "".join(between.join(line) + "\n" for line in lines)

    (folder / "ratings.csv").write_text(text(",", [heading, *table]))
    (folder / "more.csv").write_text(text(",", [heading, *[("new" + u, i, d, s) for u, i, d, s in rows(rng, 30)]]))
    (folder / "test.csv").write_text(text(",", [heading, *rows(rng, 40)]))
    (folder / "cells.csv").write_text(text(",", [heading[:3], *[row[:3] for row in rows(rng, 40)]]))
    (folder / "ratings.tsv").write_text(text("\t", [heading, *table]))
    (folder / "ratings.dat").write_text(text("::", table))
    (folder / "ratings.csv.gz").write_bytes(gzip.compress((folder / "ratings.csv").read_bytes(), mtime=0))
    (folder / "items.csv").write_text("item,genres,year\n" + "".join(f'Film {i},"A|B{i % 3}",{1990 + i % 4}\n' for i in range(15)))
    numbers = [(1 + rng.randrange(20), 1 + rng.randrange(15), rng.randrange(1, 6)) for _ in range(200)]
    (folder / "ratings.tns").write_text("# user item stars\n" + "".join(f"{u} {i} {s}\n" for u, i, s in numbers))
    mtx = "%%MatrixMarket matrix coordinate real general\n20 15 200\n" + "".join(f"{u} {i} {s}.5\n" for u, i, s in numbers)
    (folder / "ratings.mtx").write_text(mtx)
    with zipfile.ZipFile(folder / "ratings.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for place, name in enumerate(("user", "item", "stars")):
            archive.writestr(f"{name}.npy", npy([row[place] for row in numbers], "<i8", "q"))
    columns = npy([n for row in numbers for n in row], "<i8", "q").replace(b"(600,), ", b"(200,3),")
    (folder / "ratings.npy").write_bytes(columns)
    movielens = folder / "movielens"
    movielens.mkdir()
    (movielens / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + "".join(f"{u},{i},{s}.0,{1_000_000_000 + u * 99991}\n" for u, i, s in numbers))
    (movielens / "movies.csv").write_text("movieId,title,genres\n" + "".join(f"{i},Film {i} (1999),A|B{i % 3}\n" for i in range(1, 16)))
    yelp = folder / "yelp"
    yelp.mkdir()
    reviews = [{"user_id": f"u{u}", "business_id": f"b{i}", "stars": float(s), "date": f"2017-0{1 + u % 9}-11 10:00:00", "text": "x"} for u, i, s in numbers[:60]]
    businesses = [{"business_id": f"b{i}", "name": f"Place {i}", "city": f"City {i % 3}", "state": "AZ", "categories": "Food, Bars"} for i in range(16)]
    users = [{"user_id": f"u{u}", "name": f"Name {u}", "friends": f"u{(u + 1) % 20}, u{(u + 2) % 20}"} for u in range(21)]
    for name, lines in (("review", reviews), ("business", businesses), ("user", users)):
        content = "".join(json.dumps(line) + "\n" for line in lines)
        (yelp / f"yelp_{name}.json").write_text(content)
        (folder / f"yelp_{name}.json").write_text(content)


def flipped(rng: random.Random, content: bytes) -> bytes:
    """One bit or a few changed, or a part missing."""
    changed = bytearray(content)
    way = rng.random()
    if way < 0.1:
        return bytes(changed[: rng.randrange(len(changed))])
    # Half of the time in the front, where lengths and names are.
    reach = len(changed) if rng.random() < 0.5 else min(len(changed), 2000)
    for _ in range(1 if way < 0.7 else rng.randrange(2, 9)):
        place = rng.randrange(reach)
        changed[place] ^= 1 << rng.randrange(8)
    return bytes(changed) if changed != content else flipped(rng, content)


def insert_token(rng: random.Random, content: bytearray) -> None:
    place = rng.randrange(len(content) + 1)
    content[place:place] = rng.choice(TOKENS)


def replace_field(rng: random.Random, content: bytearray) -> None:
    """Something else between two separators."""
    place = rng.randrange(len(content) + 1)
    ends = [content.find(mark, place) for mark in (b",", b"\n", b"\t", b" ", b"::")]
    end = min((end for end in ends if end >= 0), default=len(content))
    content[place:end] = rng.choice(TOKENS)


def remove_span(rng: random.Random, content: bytearray) -> None:
    place = rng.randrange(len(content) + 1)
    del content[place : place + rng.choice((1, 2, 7, 50, 400))]


def repeat_span(rng: random.Random, content: bytearray) -> None:
    place, length = rng.randrange(len(content) + 1), rng.choice((1, 3, 20, 300))
    content[place:place] = content[place : place + length] * rng.choice((1, 2, 50))


def flip_some(rng: random.Random, content: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 3, 20))):
        if content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def cut_off(rng: random.Random, content: bytearray) -> None:
    del content[rng.randrange(len(content) + 1) :]


def long_cell(rng: random.Random, content: bytearray) -> None:
    place = rng.randrange(len(content) + 1)
    content[place:place] = rng.choice((b"x", b"9", b",", b" 1", b"\"", b"\x00", "é".encode(), b"a\x1b[1m")) * rng.choice((100, 5_000, 100_000, 100_000, 2_000_000))


def set_number(rng: random.Random, content: bytearray) -> None:
    """A length or a count that is another one, as binary formats have them."""
    if len(content) >= 8:
        place = rng.randrange(len(content) - 7)
        size = rng.choice((2, 4, 8))
        number = rng.choice((0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1)) % (1 << (8 * size))
        content[place : place + size] = number.to_bytes(size, "little")


WAYS = [insert_token, insert_token, replace_field, replace_field, remove_span, repeat_span, flip_some, flip_some, cut_off, long_cell, set_number]


def mutated(rng: random.Random, folder: Path) -> Callable[[str], bytes]:
    """What becomes of a file."""

    def of(base: str) -> bytes:
        content = bytearray((folder / base).read_bytes())
        if rng.random() < 0.05:
            content = bytearray(rng.randbytes(rng.choice((1, 10, 1000))) if rng.random() < 0.5 else bytes(rng.choice((1, 100, 10_000))))
        elif rng.random() < 0.05:
            other = (folder / rng.choice(BASES)).read_bytes()
            content[rng.randrange(len(content)) :] = other[rng.randrange(len(other)) :]
        for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
            rng.choice(WAYS)(rng, content)
        if base == "ratings.npz" and rng.random() < 0.5:
            return repacked(rng, (folder / base).read_bytes())
        # Behind the checksum of gzip, where nothing else finds the faults.
        if base.endswith(".csv.gz") and rng.random() < 0.7:
            text = bytearray((folder / "ratings.csv").read_bytes())
            rng.choice(WAYS)(rng, text)
            return gzip.compress(bytes(text), mtime=0)
        return gzip.compress(bytes(content), mtime=0) if rng.random() < 0.05 else bytes(content)

    return of


def repacked(rng: random.Random, content: bytes) -> bytes:
    """An archive whose checksums are right and whose arrays are not."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in archive.namelist():
            array = bytearray(archive.read(name))
            rng.choice(WAYS)(rng, array)
            packed.writestr(name if rng.random() < 0.9 else "x\x1b[1m" + name, bytes(array))
    return out.getvalue()


def hostile_name(rng: random.Random, base: str) -> str:
    """A file may be called anything."""
    if rng.random() < 0.8:
        return f"strange-{base}"
    return rng.choice(("\x1b[31mred", "a\nb", "a b", "é\u202e", "x" * 200, "-", "a,b", "a=b", "*", "[")) + base
