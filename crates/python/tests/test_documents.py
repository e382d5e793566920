"""What the documents show is run, and what they say comes out does: words to the letter, numbers within 5 %.

The blocks of a document are one program. A block of text behind one of Python is what it prints, unless the line above says
that it was measured (``<!-- measured -->``), which is different on every machine. A block that needs a library which is not
for all (``<!-- needs libmf -->``) is left out where that is missing. ``S3CMTF_UPDATE=1`` writes what came out.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import warnings
from pathlib import Path

import pytest

import s3cmtf

ROOT = Path(os.environ.get("S3CMTF_ROOT", Path(__file__).resolve().parents[3]))
TOLERANCE = 0.05
BLOCK = re.compile(r"(<!-- (?:measured|needs \w+) -->\n)?```(python|text)\n(.*?)```\n", re.DOTALL)
DOCUMENTS = sorted((ROOT / "docs" / "python").glob("*.md")) + [ROOT / "crates" / "python" / "README.md"]


def same(shown: str, got: str) -> bool:
    a, b = shown.split(), got.split()
    return len(a) == len(b) and all(map(same_word, a, b))


def same_word(shown: str, got: str) -> bool:
    """Whether two words are the same, or about the same number: these differ a little between instruction sets."""
    if shown == got:
        return True
    try:
        a, b = (float(word.strip("(),%[]")) for word in (shown, got))
    except ValueError:
        return False
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b), 0.1)


@contextlib.contextmanager
def inside(folder: Path):
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run(text: str, folder: Path) -> tuple[str, list[str]]:
    """The document with what its blocks print, and which of them print something else than is shown."""
    space: dict = {"__name__": "document"}
    wrong: list[str] = []
    printed = ""

    def block(found: re.Match) -> str:
        nonlocal printed
        mark, kind, body = found.groups()
        measured = mark is not None and "measured" in mark
        if kind == "text":
            if not measured and not same(body, printed):
                wrong.append(f"shown:\n{body}\ngot:\n{printed}")
            return f"{mark or ''}```text\n{printed if updating() or not measured else body}```\n"
        needed = re.search(r"needs (\w+)", mark or "")
        if needed and importlib.util.find_spec(needed.group(1)) is None:
            return found.group(0)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), inside(folder), warnings.catch_warnings():
            # Nobody should copy what warns.
            warnings.simplefilter("error")
            for category in (s3cmtf.Note, DeprecationWarning, FutureWarning, SyntaxWarning):
                warnings.filterwarnings("ignore", category=category)
            exec(compile(body, "a block of the document", "exec"), space)
        printed = out.getvalue()
        return found.group(0)

    return BLOCK.sub(block, text), wrong


def updating() -> bool:
    return bool(os.environ.get("S3CMTF_UPDATE"))


def check(path: Path, text: str, folder: Path) -> None:
    again, wrong = run(text, folder)
    if updating():
        path.write_text(path.read_text().replace(text, again))
    else:
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_is_true(path, tmp_path):
    text = path.read_text()
    assert BLOCK.search(text)
    check(path, text, tmp_path)


def test_the_readme_is_true(tmp_path):
    path = ROOT / "README.md"
    found = re.search(r"## In Python\n(.*?)\n## ", path.read_text(), re.DOTALL)
    check(path, found.group(1), tmp_path)


def test_the_runner_finds_what_is_not_true(tmp_path):
    """A test of documents that cannot fail would be worth nothing."""
    text = "```python\nprint('about', 1.01, 'x')\n```\n\n```text\nabout 1.0 x\n```\n"
    assert run(text, tmp_path)[1] == []
    assert run(text.replace("1.01", "1.2"), tmp_path)[1] != []
    assert run(text.replace("'x'", "'y'"), tmp_path)[1] != []
    assert run(text.replace("about 1.0 x\n", ""), tmp_path)[1] != []
    assert run(text.replace("```text", "<!-- measured -->\n```text").replace("1.01", "7"), tmp_path)[1] == []
    with pytest.raises(NameError):
        run("```python\nnothing_of_that_name\n```\n", tmp_path)
    with pytest.raises(UserWarning):
        run("```python\nimport warnings\nwarnings.warn('careful')\n```\n", tmp_path)
