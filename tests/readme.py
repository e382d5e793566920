"""Runs what README.md shows and holds the output against it: words to the letter, numbers within 5 %.

    python3 tests/readme.py BINARY            checks
    python3 tests/readme.py BINARY --update   writes what came out into README.md
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
# Numbers differ a little between instruction sets and numbers of threads; time differs always.
TOLERANCE = 0.05


def run(command: str, binary: str, folder: str) -> str:
    """What a shell command prints; `s3cmtf` is the binary under test."""
    script = f"s3cmtf() {{ '{binary}' \"$@\"; }}\n{command}"
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"README.md: {command}\nfailed with {done.returncode}:\n{done.stderr}")
    return done.stdout


def transcript(block: str, binary: str, folder: str) -> str:
    """A console block with the output of its commands as they run now."""
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{run(command, binary, folder)}" for command in commands)


def same(shown: str, got: str) -> bool:
    """Whether two tokens are the same word, or about the same number."""
    if shown == got:
        return True
    try:
        a, b = float(shown.rstrip(",")), float(got.rstrip(","))
    except ValueError:
        return False
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


def differences(shown: str, got: str) -> list[str]:
    """The lines of an output that are not as shown."""
    a, b = shown.splitlines(), got.splitlines()
    if len(a) != len(b):
        return [f"{len(a)} lines are shown, {len(b)} came out:\n{got}"]
    wrong = []
    for left, right in zip(a, b):
        # What depends on the machine.
        if re.match(r"\s*(seconds|epoch)\b", left):
            continue
        words = left.split(), right.split()
        if len(words[0]) != len(words[1]) or not all(map(same, *words)):
            wrong.append(f"shown: {left}\n  got: {right}")
    return wrong


def main() -> None:
    binary = str(Path(sys.argv[1]).resolve())
    update = "--update" in sys.argv
    text = README.read_text()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        maker = re.search(r"## The data of the examples\n.*?```python\n(.*?)```", text, re.S)
        subprocess.run([sys.executable, "-c", maker[1]], cwd=folder, check=True)
        blocks = [(block, transcript(block, binary, folder)) for block in re.findall(r"```console\n(.*?)```", text, re.S)]
        demo = re.search(r"```text\n(RMSE on .*?)```", text, re.S)[1]
        told = run("s3cmtf demo --quiet", binary, folder)
        blocks.append((demo, told))
    for shown, got in blocks:
        if update:
            text = text.replace(shown, got)
        failed += differences(shown, got)
    if update:
        README.write_text(text)
    elif failed:
        sys.exit("README.md is not true any more; --update writes what is:\n" + "\n".join(failed))
    print(f"readme: {len(blocks)} blocks, all as shown" if not update else "readme: updated")


if __name__ == "__main__":
    main()
