#!/usr/bin/env python3
"""Tests the Python package as people have it: built as a wheel, installed, and used from outside the source tree.

    tests/python.py [COMMAND]

COMMAND is the s3cmtf that the package is held against, target/debug/s3cmtf unless given. A virtual environment under target/
has what is needed; it is made where it is missing and kept.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "crates" / "python"
# Compiled when it is installed; where there is no compiler for it, one block of a tutorial is left out.
EXTRA = "libmf>=0.9.2"
REQUIREMENTS = PACKAGE / "tests" / "requirements.txt"


def run(*words: object, **more: object) -> None:
    start = time.monotonic()
    subprocess.run([str(word) for word in words], check=True, **more)
    print(
        f"python: {Path(str(words[0])).name} {' '.join(str(word) for word in words[1:4])}: {time.monotonic() - start:.0f} s",
        flush=True,
    )


def environment(target: Path) -> Path:
    """A virtual environment with the requirements, made anew when they change."""
    folder = target / "python-tests"
    mark = folder / "requirements.sha256"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        run(
            folder / "bin" / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            REQUIREMENTS,
        )
        extra = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", EXTRA]
        if subprocess.run(extra, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            print(f"python: {EXTRA} cannot be installed, and is done without", flush=True)
        mark.write_text(wanted)
    return folder / "bin"


def main() -> int:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    command = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else target / "debug" / "s3cmtf"
    programs = environment(target)
    wheels = target / "python-wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    # The profile of the other tests, so that what they have built is not built again.
    maturin = [programs / "maturin", "build", "--profile", "dev", "--interpreter", programs / "python", "--out", wheels]
    run(*maturin, cwd=PACKAGE)
    install = ["install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"]
    run(programs / "python", "-m", "pip", *install, *wheels.glob("*.whl"))
    run(programs / "ruff", "check", "--quiet", "--no-cache", ".", cwd=PACKAGE)
    run(programs / "ruff", "format", "--check", "--quiet", "--no-cache", ".", cwd=PACKAGE)
    # From a folder where the source of the package cannot be taken for it.
    tests = target / "python-tests-here"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(PACKAGE / "tests", tests)
    more = {"cwd": tests, "env": {**os.environ, "S3CMTF_COMMAND": str(command), "S3CMTF_ROOT": str(ROOT)}}
    installed = subprocess.run(
        [programs / "python", "-c", "import s3cmtf; print(s3cmtf.__path__[0])"],
        check=True,
        cwd=tests,
        stdout=subprocess.PIPE,
        text=True,
    )
    run(programs / "python", "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", ".", **more)
    run(
        programs / "python",
        "-m",
        "pytest",
        "-q",
        "--doctest-modules",
        "-p",
        "no:cacheprovider",
        installed.stdout.strip(),
        **more,
    )
    run(
        programs / "python",
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        PACKAGE / "pyproject.toml",
        "-p",
        "s3cmtf",
        **more,
    )
    run(programs / "python", "-m", "mypy", "--strict", "typed_example.py", **more)
    # That the stubs are those of the module that was built.
    run(programs / "python", "-m", "mypy.stubtest", "s3cmtf._s3cmtf", **more)
    return 0


if __name__ == "__main__":
    sys.exit(main())
