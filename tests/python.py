#!/usr/bin/env python3
"""Tests the Python package as people have it: built as a wheel, installed, and used from outside the source tree.

    tests/python.py [COMMAND]
    tests/python.py --environments   makes the virtual environments and does nothing else

COMMAND is the s3cmtf that the package is held against, target/debug/s3cmtf unless given. Virtual environments under target/
have what is needed; they are made where they are missing and kept. All tests run with the Python that runs this, and those that
need few other packages with the oldest and the newest other version from 3.10 to 3.14 that is there: on the path, or installed by
pyenv. The module is built for all versions at once, so those between are left to the workflows.
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
TESTS = PACKAGE / "tests"
# What other versions of Python leave out: it is about other packages, of which some are late with new versions.
ONCE = ["test_cluster.py", "test_documents.py", "test_factorize.py", "test_notebooks.py", "test_opponents.py", "test_plot.py"]
VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
PIP = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
# Two processes, of which each takes one file after another; the cluster's, which is mostly waiting, is first.
PYTEST = "-m pytest -q --import-mode=importlib -p no:cacheprovider -n 2 --dist loadfile --no-loadscope-reorder".split()


def run(*words: object, **more: object) -> None:
    start = time.monotonic()
    subprocess.run([str(word) for word in words], check=True, **more)
    print(
        f"python: {Path(str(words[0])).name} {' '.join(str(word) for word in words[1:4])}: {time.monotonic() - start:.0f} s",
        flush=True,
    )


def environment(folder: Path, interpreter: Path, version: str, requirements: Path, extra: str | None = None) -> Path:
    """The Python of a virtual environment with the requirements, made anew when they or the interpreter change."""
    mark = folder / "requirements.sha256"
    texts = [path.read_bytes() for path in sorted(TESTS.glob("*.txt"))]
    wanted = hashlib.sha256(b"".join(texts) + requirements.name.encode() + version.encode()).hexdigest()
    python = folder / "bin" / "python"
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        run(interpreter, "-m", "venv", folder)
        # Most of what is installed is never imported, so it is not compiled.
        run(python, *PIP, "--no-compile", "-r", requirements)
        if extra and subprocess.run([python, *PIP, extra], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            print(f"python: {extra} cannot be installed, and is done without", flush=True)
        mark.write_text(wanted)
    return python


def version_of(interpreter: Path) -> str | None:
    """The version of an interpreter, if it can be run and make virtual environments: there may be shims of none."""
    words = [interpreter, "-c", "import ensurepip, sys, venv; print(sys.version)"]
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def others() -> list[tuple[str, Path, str]]:
    """The other versions of Python that are there: short, the interpreter, and in full."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for short in VERSIONS:
        if short == f"{sys.version_info.major}.{sys.version_info.minor}":
            continue
        on_path = [Path(path) for path in [shutil.which(f"python{short}")] if path]
        for interpreter in on_path + sorted(pyenv.glob(f"{short}.*/bin/python{short}")):
            version = version_of(interpreter)
            if version and version.startswith(f"{short}."):
                found.append((short, interpreter, version))
                break
    return found


def environments(target: Path) -> tuple[Path, list[tuple[str, Path]]]:
    """The Python that has everything, and those of other versions."""
    everything = TESTS / "requirements.txt"
    python = environment(target / "python-tests", Path(sys.executable), sys.version, everything, EXTRA)
    found = others()
    chosen = found if len(found) < 3 else [found[0], found[-1]]
    each = TESTS / "each.txt"
    return python, [
        (short, environment(target / f"python-tests-{short}", interpreter, version, each))
        for short, interpreter, version in chosen
    ]


def main() -> int:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    python, older_and_newer = environments(target)
    if sys.argv[1:] == ["--environments"]:
        return 0
    command = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else target / "debug" / "s3cmtf"
    programs = python.parent
    wheels = target / "python-wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    # The profile of the other tests, so that what they have built is not built again.
    run(programs / "maturin", "build", "--profile", "dev", "--interpreter", python, "--out", wheels, cwd=PACKAGE)
    wheel = next(wheels.glob("*.whl"))
    # A package must have the licences beside its pyproject.toml.
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        if (ROOT / name).read_bytes() != (PACKAGE / name).read_bytes():
            sys.exit(f"python: crates/python/{name} is not {name}")
    run(programs / "maturin", "sdist", "--out", wheels, cwd=PACKAGE)
    run(python, "-m", "twine", "check", "--strict", *wheels.iterdir())
    install = [*PIP, "--force-reinstall", "--no-deps", wheel]
    run(python, *install)
    run(programs / "ruff", "check", "--quiet", "--no-cache", ".", cwd=PACKAGE)
    run(programs / "ruff", "format", "--check", "--quiet", "--no-cache", ".", cwd=PACKAGE)
    # From a folder where the source of the package cannot be taken for it.
    tests = target / "python-tests-here"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(PACKAGE / "tests", tests)
    more = {"cwd": tests, "env": {**os.environ, "S3CMTF_COMMAND": str(command), "S3CMTF_ROOT": str(ROOT)}}
    where = [python, "-c", "import s3cmtf; print(s3cmtf.__path__[0])"]
    installed = subprocess.run(where, check=True, cwd=tests, stdout=subprocess.PIPE, text=True).stdout.strip()
    run(python, *PYTEST, ".", **more)
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", installed, **more)
    run(python, "-m", "mypy", "--strict", "--config-file", PACKAGE / "pyproject.toml", "-p", "s3cmtf", **more)
    run(python, "-m", "mypy", "--strict", "typed_example.py", **more)
    # That the stubs are those of the module that was built.
    run(python, "-m", "mypy.stubtest", "s3cmtf._s3cmtf", **more)
    for short, other in older_and_newer:
        run(other, *install)
        run(other, *PYTEST, *[f"--ignore={name}" for name in ONCE], ".", **more)
        print(f"python: also with {short}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
