#!/usr/bin/env python3
"""Fails where the code turns an arrow of the architecture back. CONTRIBUTING.md has the map.

1. Crates depend on each other only along kernels <- s3cmtf <- command, python; cuda stands alone.
2. Modules of the library use only modules below them: problem < model < training < files, tune; report is above discovery.
3. `unsafe` occurs in the kernels, and in the files of cuda that are devices, alone.
4. Files do not use each other in a circle, in Rust or in Python: tests/circles.py says what counts. Those in KNOWN are left.
5. Nothing is left undone: no todo!(), no unimplemented!(), no ignored test.
6. The library's parallel loops are those of its room `parallel`: rayon's own are compiled anew for each closure.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from circles import Crate, circles, python_uses

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "crates" / "s3cmtf" / "src"

# What each crate may depend on.
CRATES = {
    "s3cmtf-kernels": set(),
    "s3cmtf-cuda": set(),
    "s3cmtf": {"s3cmtf-kernels", "s3cmtf-cuda"},
    "s3cmtf-command": {"s3cmtf"},
    "s3cmtf-python": {"s3cmtf"},
}

# What each module of the library may use. `params`, `error`, `likelihood`, `nodes` and `parallel` are for everybody.
LAYERS = ["table", "problem", "layout", "model", "training", "files"]
MODULES = {name: set(LAYERS[:level]) for level, name in enumerate(LAYERS)}
MODULES |= {"discovery": {"table", "problem", "model"}}
MODULES |= {"report": {"table", "problem", "model", "training", "discovery"}}
MODULES |= {"tune": {"table", "problem", "model", "training"}, "prepare": {"table", "problem"}}
MODULES |= {"input": {"table", "problem", "model", "prepare", "files"}}
MODULES |= {"world": {"table", "problem"}, "synthetic": {"problem"}, "params": {"table", "problem"}, "error": set(), "likelihood": set()}
MODULES |= {"nodes": set(), "parallel": set()}
EVERYBODYS = {"params", "error", "likelihood", "nodes", "parallel"}

# Where `unsafe` may be.
CUDA = ROOT / "crates" / "cuda" / "src"
DEVICES = ("cuda.rs", "device.rs", "emulator.rs", "limited.rs", "tests/device.rs")
UNSAFE = {ROOT / "crates" / "kernels", *(CUDA / name for name in DEVICES)}

PACKAGE = ROOT / "crates" / "python" / "s3cmtf"

# Circles that are still there, as the folder that all files of one are in, and why. Do not add to it.
KNOWN: dict[Path, str] = {}


def without_comments_and_texts(code: str) -> str:
    """The code with comments, strings and characters blanked out; line numbers stay."""
    pattern = re.compile(
        r"""//[^\n]*                                # comment to the end of the line
          | /\*.*?\*/                               # comment (nested ones are not used here)
          | \bb?r(?P<hashes>\#*)".*?"(?P=hashes)    # raw string
          | b?"(?:\\.|[^"\\])*"                     # string
          | b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\])'   # character, not a lifetime
        """,
        re.DOTALL | re.VERBOSE,
    )
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)


def sources() -> dict[Path, str]:
    files = (path for folder in ("crates", "fuzz") for path in sorted((ROOT / folder).rglob("*.rs")))
    kept = (path for path in files if "target" not in path.relative_to(ROOT).parts)
    return {path: without_comments_and_texts(path.read_text(encoding="utf-8")) for path in kept}


def place(path: Path, code: str, at: int) -> str:
    return f"{path.relative_to(ROOT)}:{code.count(chr(10), 0, at) + 1}"


def crate_faults() -> list[str]:
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["name"]: package for package in metadata["packages"]}
    faults = [f"crate {name} is not in tests/architecture.py" for name in packages if name not in CRATES]
    for name, allowed in CRATES.items():
        for dependency in packages.get(name, {}).get("dependencies", []):
            other = dependency["name"]
            if other in packages and other not in allowed:
                faults.append(f"crate {name} depends on {other}, against the arrows")
    return faults


def exported_names(lib: str) -> dict[str, str]:
    """For each name that the library re-exports at its root, the module that it comes from."""
    names = {}
    for module, listed in re.findall(r"\bpub\s+use\s+(\w+)::(\{[^}]*\}|\w+)\s*;", lib):
        for name in re.findall(r"\w+", listed):
            names[name] = module
    return names


def first_names(code: str, at: int) -> list[str]:
    """The first name of each path that starts at `at`: one of `a::b`, several of `{a::b, c}`."""
    if code[at] != "{":
        match = re.match(r"\w+", code[at:])
        return [match.group()] if match else []
    names, depth, expected = [], 0, False
    for match in re.finditer(r"[{},]|\w+", code[at:]):
        token = match.group()
        if token == "{":
            depth += 1
            expected = depth == 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                break
        elif token == ",":
            expected = depth == 1
        elif expected:
            names.append(token)
            expected = False
    return names


def without_tests(code: str) -> str:
    """The code with its test modules blanked out; line numbers stay."""
    for match in re.finditer(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{", code):
        depth, end = 1, match.end()
        while depth > 0 and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        blank = re.sub(r"[^\n]", " ", code[match.start() : end])
        code = code[: match.start()] + blank + code[end:]
    return code


def module_faults(code_of: dict[Path, str]) -> list[str]:
    exports = exported_names(code_of[LIBRARY / "lib.rs"])
    faults = []
    for path, code in code_of.items():
        if LIBRARY not in path.parents or path.name == "lib.rs":
            continue
        module = path.relative_to(LIBRARY).parts[0].removesuffix(".rs")
        if module not in MODULES:
            faults.append(f"{path.relative_to(ROOT)}: module {module} is not in tests/architecture.py")
            continue
        # Tests may look up: a test of a lower module may need a whole run.
        if path.name == "tests.rs":
            continue
        code = without_tests(code)
        allowed = MODULES[module] | EVERYBODYS | {module}
        for match in re.finditer(r"\bcrate\s*::\s*", code):
            for name in first_names(code, match.end()):
                used = exports.get(name, name)
                if used in MODULES and used not in allowed:
                    faults.append(f"{place(path, code, match.start())}: {module} uses {used}, which lies above it")
    return faults


def circle_faults(code_of: dict[Path, str]) -> list[str]:
    found = python_uses(PACKAGE)
    for crate in ("kernels", "s3cmtf", "command", "python"):
        source = ROOT / "crates" / crate / "src"
        kept = {path: code for path, code in code_of.items() if source in path.parents and path.name != "tests.rs"}
        found |= Crate(source, {path: without_tests(code) for path, code in kept.items()}).uses()
    faults, left = [], set(KNOWN)
    for circle in circles(found):
        known = next((folder for folder in KNOWN if all(folder in path.parents for path in circle)), None)
        left.discard(known)
        if known is None:
            uses = [(path, used, line) for path in circle for used, line in found[path].items() if used in circle]
            arrows = [f"  {path.relative_to(ROOT)}:{line} uses {used.relative_to(ROOT)}" for path, used, line in uses]
            faults.append("\n".join([f"{len(circle)} files use each other in a circle:", *arrows]))
    faults += [f"{folder.relative_to(ROOT)} has no circle any more: take it out of KNOWN" for folder in left]
    return faults


def word_faults(code_of: dict[Path, str]) -> list[str]:
    faults = []
    for path, code in code_of.items():
        if UNSAFE.isdisjoint({path, *path.parents}):
            for match in re.finditer(r"\bunsafe\b", code):
                faults.append(f"{place(path, code, match.start())}: unsafe outside the kernels and calls of a driver")
        for match in re.finditer(r"\b(?:todo|unimplemented)!\s*\(|#\[ignore\b", code):
            faults.append(f"{place(path, code, match.start())}: {match.group()} is something left undone")
        if LIBRARY in path.parents:
            for match in re.finditer(r"\b(?:into_)?par_(?:iter|chunks|bridge|extend)\w*", code):
                faults.append(f"{place(path, code, match.start())}: {match.group()} where crate::parallel would do")
    return faults


def main() -> int:
    code_of = sources()
    faults = crate_faults() + module_faults(code_of) + circle_faults(code_of) + word_faults(code_of)
    for fault in faults:
        print(f"architecture: {fault}", file=sys.stderr)
    if not faults:
        print(f"architecture: {len(code_of)} files, every arrow points one way")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
