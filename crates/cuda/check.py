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
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
# A checker follows every access: tests that draw thousands of times to compare moments would take hours, and launch nothing else.
SLOW = ["moments", "distribution_that", "planted_model"]
# Each checker, and parts of the tests that it follows, beside each other: every kernel is launched by those that look for races, which takes
# longest.
CHECKERS = {
    "memcheck": [[]],
    "racecheck": [
        ["tests::sums::sums"],
        ["tests::sums::passes"],
        ["tests::sums::entries"],
        ["tests::sums", "--skip", "sums::sums", "--skip", "sums::passes", "--skip", "sums::entries"],
        ["tests::terms"],
        ["tests::graph", "tests::switches"],
        ["tests::draws"],
        ["runs_are_the_same"],
    ],
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


class Run:
    """A program that runs beside others."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.start = time.monotonic()
        environment = os.environ | {"S3CMTF_CUDA_TESTS": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(command, env=environment, text=True, **pipes)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        self.output, _ = self.process.communicate()
        self.seconds = time.monotonic() - self.start

    def found(self) -> tuple[list[int], bool]:
        """How many tests passed and failed, and errors; and whether all is well."""
        self.reader.join()
        tests = re.search(r"(\d+) passed; (\d+) failed", self.output)
        errors = re.search(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", self.output)
        numbers = [int(number) for found in (tests, errors) if found for number in found.groups() if number]
        is_well = self.process.returncode == 0 and tests is not None and not any(numbers[1:])
        is_well &= numbers[:1] != [0] and (errors is not None or self.name not in CHECKERS)
        if not is_well:
            print(self.output[-6000:], flush=True)
        return numbers + [0] * (3 - len(numbers)), is_well


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--tests", metavar="PROGRAM", help="the crate's tests, built elsewhere")
    arguments.add_argument("--out", metavar="FILE", type=pathlib.Path, help="write what was found as Markdown, too")
    given = arguments.parse_args()
    program = str(pathlib.Path(given.tests or built()).resolve())
    sanitizer = checker()
    # One at a time in a program: reports of a checker would be mixed.
    tests = [program, "--test-threads", "1"]
    quick = tests + [word for name in SLOW for word in ("--skip", name)]
    runs = [Run("tests", tests)]
    runs[0].reader.join()
    for tool, parts in CHECKERS.items():
        runs += [Run(tool, [sanitizer, "--tool", tool, "--error-exitcode", "9", *quick, *part]) for part in parts]
    lines = [f"{gpu()}: `crates/cuda/check.py`", "", "| what | tests passed | errors | seconds |", "|---|---|---|---|"]
    failed = False
    for name in ["tests", *CHECKERS]:
        parts = [(run, *run.found()) for run in runs if run.name == name]
        passed, wrong, errors = (sum(numbers[place] for _, numbers, _ in parts) for place in range(3))
        failed |= not all(is_well for *_, is_well in parts)
        found = errors if name in CHECKERS else ""
        row = f"| {name} | {passed} of {passed + wrong} | {found} | {max(run.seconds for run, *_ in parts):.0f} |"
        print(row, flush=True)
        lines.append(row)
    if given.out:
        given.out.write_text("\n".join(["# The kernels on a GPU", "", *lines]) + "\n", encoding="utf-8")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
