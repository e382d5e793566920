#!/usr/bin/env python3
"""Fails where a crate that is built into ours has a licence that deny.toml does not allow.

`cargo deny check` says the same and more (known faults, sources); this needs no other program.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def allowed() -> set[str]:
    listed = re.search(r"^allow = \[(.*?)\]", (ROOT / "deny.toml").read_text(encoding="utf-8"), re.M | re.S)
    return set(re.findall(r'"([^"]+)"', listed[1])) if listed else set()


def is_allowed(expression: str, licences: set[str]) -> bool:
    """Whether an SPDX expression leaves a choice that is allowed; `/` is an old way to write OR."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def one() -> bool:
        word = words.pop(0)
        if word == "(":
            inside = either()
            words.pop(0)
            return inside
        if words[:1] == ["WITH"]:
            words.pop(0)
            word = f"{word} WITH {words.pop(0)}"
        return word in licences

    def both() -> bool:
        holds = one()
        while words[:1] == ["AND"]:
            words.pop(0)
            holds &= one()
        return holds

    def either() -> bool:
        holds = both()
        while words[:1] == ["OR"]:
            words.pop(0)
            holds |= both()
        return holds

    return either()


def main() -> int:
    command = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    licences = allowed()
    wrong = [
        f"{package['name']} {package['version']}: {package['license'] or 'no licence'}"
        for package in metadata["packages"]
        if not is_allowed(package["license"] or "none", licences)
    ]
    for fault in wrong:
        print(f"licences: {fault} is not allowed by deny.toml", file=sys.stderr)
    if not wrong:
        print(f"licences: {len(metadata['packages'])} crates, all allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
