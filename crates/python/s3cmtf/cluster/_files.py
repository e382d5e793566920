"""Which worker reads what, and files that are not local."""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import io
import os
import posixpath
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _s3cmtf

PARQUET = (".parquet", ".pq")
TABLES = (*PARQUET, ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")


@dataclass(frozen=True)
class Piece:
    """A file, or of a Parquet file some row groups."""

    path: str
    groups: tuple[int, ...] | None = None


def filesystem(path: str) -> tuple[Any, str]:
    """The filesystem of a path or of an address such as ``s3://bucket/folder``, and the path in it."""
    from pyarrow import fs

    if "://" in path:
        found: tuple[Any, str] = fs.FileSystem.from_uri(path)
        return found
    return fs.LocalFileSystem(), os.path.abspath(path)


def is_local(path: str) -> bool:
    return "://" not in path


def expanded(paths: list[str]) -> list[str]:
    """All files that are meant by paths, patterns and folders, in an order that is always the same."""
    found: list[str] = []
    for path in paths:
        files = _local(path) if is_local(path) else _remote(path)
        if not files:
            raise FileNotFoundError(f"{path}: there is no such file, and no table in such a folder")
        found += files
    return sorted(dict.fromkeys(found))


def _local(path: str) -> list[str]:
    if os.path.isdir(path):
        return [str(one) for one in Path(path).rglob("*") if one.name.endswith(TABLES)]
    return [path] if os.path.exists(path) else glob.glob(path)


def _remote(path: str) -> list[str]:
    from pyarrow import fs

    system, inside = filesystem(path)
    scheme = path.partition("://")[0]
    if any(mark in inside for mark in "*?["):
        listed = system.get_file_info(fs.FileSelector(posixpath.dirname(inside)))
        names = [one.path for one in listed if fnmatch.fnmatch(one.path, inside)]
    elif system.get_file_info(inside).type == fs.FileType.Directory:
        listed = system.get_file_info(fs.FileSelector(inside, recursive=True))
        names = [one.path for one in listed if one.path.endswith(TABLES)]
    else:
        names = [inside] if system.get_file_info(inside).type == fs.FileType.File else []
    return [f"{scheme}://{name}" for name in names]


def pieces(paths: list[str], workers: int) -> list[list[Piece]]:
    """What each worker reads, at most so many of them: whole files, or where those are too few, row groups of Parquet files."""
    files = expanded(paths)
    if len(files) >= workers or not all(name.endswith(PARQUET) for name in files):
        own = [[Piece(name) for name in files[worker::workers]] for worker in range(workers)]
    else:
        groups = [Piece(name, (group,)) for name in files for group in range(row_groups(name))]
        own = [groups[len(groups) * worker // workers : len(groups) * (worker + 1) // workers] for worker in range(workers)]
    return [part for part in own if part]


def row_groups(path: str) -> int:
    """How many row groups a Parquet file has."""
    import pyarrow.parquet as pq

    system, inside = filesystem(path)
    count: int = pq.ParquetFile(inside, filesystem=system).metadata.num_row_groups
    return count


def read(own: list[Piece], scratch: str) -> _s3cmtf.Table:
    """The table of these pieces."""
    if all(piece.groups is None for piece in own):
        return _s3cmtf.Table.files([local(piece.path, scratch) for piece in own], None, None)
    import pyarrow as pa

    from .._tables import given

    return given(pa.concat_tables([arrow(piece) for piece in own]), "X")[0].table


def arrow(piece: Piece) -> Any:
    """A piece as a table of pyarrow."""
    system, inside = filesystem(piece.path)
    if piece.groups is not None:
        import pyarrow.parquet as pq

        return pq.ParquetFile(inside, filesystem=system).read_row_groups(list(piece.groups))
    from pyarrow import csv

    tabs = csv.ParseOptions(delimiter="\t") if ".tsv" in inside else None
    with system.open_input_stream(inside) as stream:
        return csv.read_csv(stream, parse_options=tabs)


def local(path: str, scratch: str) -> str:
    """A file, or a copy of it where it is not local."""
    if is_local(path):
        return path
    system, inside = filesystem(path)
    # The whole path has a part in the name: files of two folders may have the same.
    mark = hashlib.sha256(path.encode()).hexdigest()[:12]
    copy = os.path.join(scratch, f"{mark}-{posixpath.basename(inside)}")
    with system.open_input_stream(inside) as source, open(copy, "wb") as target:
        while block := source.read(1 << 22):
            target.write(block)
    return copy


def packed(folder: str) -> bytes:
    """A folder as one archive."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(folder, arcname=".")
    return archive.getvalue()


def unpacked(archive: bytes, folder: str) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")


class Checkpoints:
    """Checkpoints of a run in a folder that all workers reach.

    The library writes them to a local folder. From there they go to the place that was asked for, each under a name of its own, and
    last a file that says which is the newest and what its hash is: a checkpoint that is not whole is never gone on from.
    """

    def __init__(self, place: str | None) -> None:
        self.place = place
        self.seen: float | None = None
        self.names: list[str] = []

    def put(self, folder: str, name: str) -> None:
        """Keeps the checkpoint in a local folder, if it is newer than the last."""
        if self.place is None or not os.path.isdir(folder):
            return
        newest = max((entry.stat().st_mtime_ns for entry in os.scandir(folder)), default=None)
        if newest is None or newest == self.seen:
            return
        self.seen = newest
        archive = packed(folder)
        system, inside = filesystem(self.place)
        system.create_dir(inside, recursive=True)
        self._write(system, posixpath.join(inside, f"{name}.tar"), archive)
        self._write(system, posixpath.join(inside, "newest"), f"{name} {hashlib.sha256(archive).hexdigest()}\n".encode())
        # The last two stay: whoever has just read which is the newest finds it.
        self.names.append(f"{name}.tar")
        while len(self.names) > 2:
            system.delete_file(posixpath.join(inside, self.names.pop(0)))

    @staticmethod
    def _write(system: Any, path: str, content: bytes) -> None:
        with system.open_output_stream(path + ".new") as stream:
            stream.write(content)
        system.move(path + ".new", path)

    def newest(self) -> str | None:
        """The name of the newest one."""
        from pyarrow import fs

        if self.place is None:
            return None
        system, inside = filesystem(self.place)
        path = posixpath.join(inside, "newest")
        if system.get_file_info(path).type != fs.FileType.File:
            return None
        with system.open_input_stream(path) as stream:
            return str(stream.read().decode().strip())

    def get(self, scratch: str, newest: str | None) -> str | None:
        """A local folder with the checkpoint of that name and hash."""
        if newest is None or self.place is None:
            return None
        name, _, wanted = newest.partition(" ")
        system, inside = filesystem(self.place)
        with system.open_input_stream(posixpath.join(inside, f"{name}.tar")) as stream:
            archive = stream.read()
        if hashlib.sha256(archive).hexdigest() != wanted:
            raise ValueError(
                f"{self.place}: {name}.tar is not the checkpoint that was written: remove the folder to start anew"
            )
        folder = tempfile.mkdtemp(dir=scratch)
        unpacked(archive, folder)
        return folder
