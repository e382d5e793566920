"""Files of a crate or of the Python package that use each other in a circle; tests/architecture.py fails on them.

What counts as use in Rust: a path in a `use`, and a path in the code that starts with `crate`, `super`, `self`, a child
module or a name that was brought in by a `use`. A path is followed to the file that defines its last name, through
re-exports, so that `super::X` is a use of the child that `mod.rs` has X from, not of `mod.rs`. What does not count:

- `mod x;` and `pub use` (with any visibility): a file that lists its children does not need them.
- What a child takes of a file above it in the tree of modules (`super::X`, where the parent defines X): Rust lets children
  see what is private there, and so takes a file and those in its folder for one module.
- Methods, which no path names: `impl Model` in a child of the file that defines `Model` is how Rust splits a large type.
- Tests.

In Python every import of the package's own modules counts, those for types alone and those inside functions too: hiding
one there is how circles are made to run.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

# A use of another file: where it is written, by line.
Uses = dict[Path, dict[Path, int]]

ITEM = re.compile(r"\b(?:struct|enum|union|trait|fn|const|static|type|macro_rules\s*!)\s+(?:mut\s+)?(\w+)")
USE = re.compile(r"(\bpub(?:\s*\([^)]*\))?\s+)?\buse\s+([^;]+);")
PATH = re.compile(r"(?<![\w:.$])(\$?\w+)((?:\s*::\s*\w+)+)")


def at_top(code: str) -> str:
    """The code with everything between braces blanked out; line numbers stay."""
    kept, depth = [], 0
    for character in code:
        depth -= character == "}"
        kept.append(character if depth == 0 or character == "\n" else " ")
        depth += character == "{"
    return "".join(kept)


def use_paths(tree: str) -> list[tuple[list[str], str]]:
    """The paths of a use tree, and the name that each goes by; `*` for all names of a module."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        path, _, alias = re.sub(r"\s+as\s+", "=", tree).partition("=")
        segments = [segment.strip() for segment in path.split("::") if segment.strip()]
        if len(segments) > 1 and segments[-1] == "self":
            segments.pop()
        return [(segments, alias.strip() or segments[-1])] if segments else []
    before = [segment.strip() for segment in tree[:brace].split("::") if segment.strip()]
    parts, depth, start = [], 0, brace + 1
    for at, character in enumerate(tree[brace:], brace):
        depth += (character == "{") - (character == "}")
        if (character == "," and depth == 1) or depth == 0:
            parts.append(tree[start:at])
            start = at + 1
            if depth == 0:
                break
    found = []
    for part in parts:
        for segments, name in use_paths(part) if part.strip() else []:
            whole = before + (segments if segments != ["self"] else [])
            found.append((whole, before[-1] if name == "self" else name))
    return found


class Crate:
    """The modules of a crate, what each defines, and what it brings in."""

    def __init__(self, source: Path, code_of: dict[Path, str]) -> None:
        self.files: dict[tuple[str, ...], Path] = {}
        self.code: dict[tuple[str, ...], str] = {}
        for path, code in code_of.items():
            parts = path.relative_to(source).with_suffix("").parts
            if parts[-1] in ("mod", "lib", "main"):
                parts = parts[:-1]
            self.files[parts] = path
            self.code[parts] = code
        self.items: dict[tuple[str, ...], set[str]] = {}
        self.brought: dict[tuple[str, ...], dict[str, list[str]]] = {}
        self.globs: dict[tuple[str, ...], list[list[str]]] = {}
        for module, code in self.code.items():
            uses = [(path, name) for match in USE.finditer(code) for path, name in use_paths(match[2])]
            self.brought[module] = {name: path for path, name in uses if name != "*"}
            self.globs[module] = [path[:-1] for path, name in uses if name == "*"]
            self.items[module] = set(ITEM.findall(at_top(USE.sub(lambda use: re.sub(r"[^\n]", " ", use[0]), code))))

    def start(self, module: tuple[str, ...], segments: list[str]) -> tuple[tuple[str, ...], list[str]] | None:
        """The module that a path starts in, and what is left of the path; None for other crates."""
        here, left = module, list(segments)
        if left[0] in ("crate", "$crate"):
            return (), left[1:]
        if left[0] == "self":
            return here, left[1:]
        if left[0] == "super":
            while left and left[0] == "super":
                here, left = here[:-1], left[1:]
            return here, left
        known = (*here, left[0]) in self.files or left[0] in self.brought[here] or left[0] in self.items[here]
        return (here, left) if known else None

    def module_of(self, module: tuple[str, ...], segments: list[str], seen: frozenset[object] = frozenset()) -> tuple[str, ...] | None:
        """The module whose file defines what a path leads to, or that it names; None if that is not of this crate."""
        mark = (module, tuple(segments))
        found = self.start(module, segments) if segments and mark not in seen else None
        if found is None:
            return None
        seen = seen | {mark}
        here, left = found
        for place, name in enumerate(left):
            if (*here, name) in self.files:
                here = (*here, name)
                continue
            if name in self.items[here]:
                return here
            path = self.brought[here].get(name)
            if path is not None and path[0] == name:
                # `use glob::glob` is about a crate.
                return None
            if path is not None:
                return self.module_of(here, path + left[place + 1 :], seen) or self.module_of(here, path, seen)
            for glob in self.globs[here]:
                inner = self.module_of(here, [*glob, *left[place:]], seen)
                if inner is not None and inner != here:
                    return inner
            return here
        return here

    def uses(self) -> Uses:
        """For each file, the files that it uses."""
        found: Uses = {}
        for module, code in self.code.items():
            path = self.files[module]
            own = found.setdefault(path, {})
            paths = []
            for match in USE.finditer(code):
                if not match[1]:
                    paths += [(segments, match.start()) for segments, _ in use_paths(match[2])]
            rest = USE.sub(lambda use: re.sub(r"[^\n]", " ", use[0]), code)
            for match in PATH.finditer(rest):
                paths.append(([match[1], *re.findall(r"\w+", match[2])], match.start()))
            for segments, at in paths:
                used = self.module_of(module, segments[:-1] if segments[-1] == "*" else segments)
                if used is not None and used != module[: len(used)]:
                    own.setdefault(self.files[used], code.count("\n", 0, at) + 1)
        return found


def python_uses(package: Path) -> Uses:
    """For each module of a package and of the packages in it, the others that it imports."""
    found: Uses = {}
    for path in sorted(package.rglob("*.py")):
        own = found.setdefault(path, {})
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level >= 1:
                # One dot is the folder of the file, and each more the folder above.
                folder = path.parents[node.level - 1]
                names = node.module.split(".") if node.module else [alias.name for alias in node.names]
                for name in names[:1] if node.module else names:
                    places = [folder / f"{name}.py", folder / name / "__init__.py"]
                    # What `from . import name` takes from the package itself is in its __init__; what is compiled is no file.
                    inside = [] if name.startswith("_") else [folder / "__init__.py"]
                    used = next((place for place in places + inside if place.exists()), None)
                    if used not in (None, path):
                        own.setdefault(used, node.lineno)
    return found


def circles(uses: Uses) -> list[list[Path]]:
    """The largest sets of files of which each uses each other, if only through others."""
    after: dict[Path, set[Path]] = {}
    for start in uses:
        reached, left = set(), list(uses[start])
        while left:
            one = left.pop()
            if one not in reached:
                reached.add(one)
                left += uses.get(one, {})
        after[start] = reached
    found, done = [], set()
    for one in sorted(uses):
        if one in after[one] and one not in done:
            circle = [other for other in sorted(after[one]) if one in after.get(other, ())]
            done |= set(circle)
            found.append(circle)
    return found
