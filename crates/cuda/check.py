#!/usr/bin/env python3
"""Tests the kernels on a GPU: all tests of the crate there, then under the memory and the race checker of CUDA.

    check.py [--tests PROGRAM] [--out RECORD.md]

Without a program the tests are built by cargo. On a machine without Rust, give what `cargo test -p s3cmtf-cuda --no-run` has built
on another one. compute-sanitizer is looked for in PATH and where CUDA installs it; without it this fails.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# A checker follows every access: tests that draw thousands of times to compare moments would take hours, and launch nothing else.
MOMENTS = ["moments", "distribution_that", "planted_model"]
# Each checker: the tests that it follows, if not all, and those that it does not. Every kernel is launched by what is left: a device
# that fails does so again and again in tests of failures, and races of whole epochs, many times over, take minutes to look for.
CHECKERS = {
    "memcheck": ([], [*MOMENTS, "tests::failures"]),
    "racecheck": (
        ["tests::sums", "tests::terms", "tests::graph", "tests::switches", "tests::draws", "tests::samples", "runs_are_the_same"],
        [*MOMENTS, "until_they_join"],
    ),
}


def built() -> str:
    """The program of the crate's tests, by cargo."""
    command = ["cargo", "test", "-p", "s3cmtf-cuda", "--lib", "--no-run", "--message-format", "json"]
    lines = subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    messages = (json.loads(line) for line in lines if line.startswith("{"))
    programs = [message["executable"] for message in messages if message.get("executable")]
    return programs[-1]


def checker() -> str:
    found = shutil.which("compute-sanitizer")
    places = [found] if found else sorted(map(str, pathlib.Path("/usr/local").glob("cuda*/bin/compute-sanitizer")))
    if not places:
        sys.exit("compute-sanitizer is not in PATH and not in /usr/local/cuda*/bin: install the CUDA toolkit")
    return places[-1]


def gpu() -> str:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(query, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[0].split(", ")
    return f"{name}, driver {driver}"


def run(command: list[str]) -> tuple[int, str, float]:
    start = time.monotonic()
    environment = os.environ | {"S3CMTF_CUDA_TESTS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout, time.monotonic() - start


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--tests", metavar="PROGRAM", help="the crate's tests, built elsewhere")
    arguments.add_argument("--out", metavar="FILE", type=pathlib.Path, help="write what was found as Markdown, too")
    given = arguments.parse_args()
    program = str(pathlib.Path(given.tests or built()).resolve())
    sanitizer = checker()
    # One at a time: tests share the GPU, and reports of a checker would be mixed.
    tests = [program, "--test-threads", "1"]
    runs = [("tests", tests)]
    for tool, (names, skipped) in CHECKERS.items():
        skips = [word for name in skipped for word in ("--skip", name)]
        runs.append((tool, [sanitizer, "--tool", tool, "--error-exitcode", "9", *tests, *skips, *names]))
    lines = [f"{gpu()}: `crates/cuda/check.py`", "", "| what | tests passed | errors | seconds |", "|---|---|---|---|"]
    failed = False
    for name, command in runs:
        code, output, seconds = run(command)
        passed = re.search(r"(\d+) passed; (\d+) failed", output)
        errors = re.search(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", output)
        found = next((number for number in errors.groups() if number), "") if errors else ""
        failed |= code != 0 or not passed or passed[2] != "0" or (name in CHECKERS and found != "0")
        row = f"| {name} | {passed[1] + ' of ' + str(int(passed[1]) + int(passed[2])) if passed else 'none'} | {found} | {seconds:.0f} |"
        print(row, flush=True)
        lines.append(row)
        if code != 0:
            print(output[-6000:], flush=True)
    if given.out:
        given.out.write_text("\n".join(["# The kernels on a GPU", "", *lines]) + "\n", encoding="utf-8")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
