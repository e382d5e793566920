#!/usr/bin/env python3
"""Builds the documentation as a site, in target/site, and fails on a link or an anchor that leads nowhere.

    tests/docs.py

MkDocs comes from a virtual environment under target/, which is made where it is missing and kept. mkdocs.yml is the
configuration; MkDocs calls `on_config` below, so that `mkdocs serve` shows the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
MKDOCS = "mkdocs==1.6.1"
# What the site has, as it lies in the repository; pictures and notebooks are there to be linked to.
TEXTS = ["*.md", "LICENSE-*", "docs/**/*.md", "docs/**/*.ipynb", "docs/**/*.svg", "docs/**/*.png", "benchmarks/**/*.md", "benchmarks/**/*.svg"]


def on_config(config: Any, **_: Any) -> Any:
    """Called by MkDocs: the texts, copied together."""
    source = TARGET / "site-source"
    shutil.rmtree(source, ignore_errors=True)
    for path in sorted({path for pattern in TEXTS for path in ROOT.glob(pattern)}):
        to = source / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
    config["docs_dir"] = str(source)
    return config


def main() -> int:
    start = time.monotonic()
    folder = TARGET / "docs-tests"
    python = folder / "bin" / "python"
    mark = folder / "requirements"
    if not mark.exists() or mark.read_text() != MKDOCS:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", MKDOCS]
        subprocess.run(pip, check=True)
        mark.write_text(MKDOCS)
    site = TARGET / "site"
    words = [python, "-m", "mkdocs", "build", "--strict", "--site-dir", site]
    done = subprocess.run(words, cwd=ROOT)
    if done.returncode == 0:
        print(f"docs: {len(list(site.rglob('*.html')))} pages, no link leads nowhere, {time.monotonic() - start:.0f} s")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
