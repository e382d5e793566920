"""Besieges the command: kills it, fills its disk, flips bits in its files and feeds it files that nobody would write.

    python3 tests/siege.py BINARY --seconds 300 --seed 1 --jobs 2
    python3 tests/siege.py BINARY --seed 1 --case 1234      one case once more; its files stay

Whatever happens, the command says what is wrong in a few words, a model or a table is there whole or as it was before, a run that
is resumed ends with the same bits, and what is read is not changed. The cases follow from the seed, the moments of kills do not.
Prints a table of what was tried, and exits with 1 if anything failed.
"""

import argparse
import concurrent.futures
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from siege_files import BASES, base_files, flipped, hostile_name, mutated

# A message is read by somebody.
LONGEST_STDERR = 16_000
LONGEST_STDOUT = 200_000
# Of a run that takes a fraction of a second; the machine may be busy.
PATIENCE = 60.0
# What a small file may take, in KB of address space.
ADDRESS_SPACE = 4_000_000
# Leftovers of the dead are cleared away once they are this old, in seconds.
OLD = 120.0
OURS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


class Failed(Exception):
    """What must not happen."""


class Siege:
    """The command, files that are as they should be, and what was counted."""

    def __init__(self, binary: Path, folder: Path, seed: int) -> None:
        self.binary, self.folder, self.seed = binary, folder, seed
        self.lock = threading.Lock()
        self.counts: dict[str, dict[str, int]] = {}
        self.failures: list[str] = []
        self.kills = 0
        self.files = 0
        self.good = folder / "good"
        self.good.mkdir()
        self.prepare()

    def prepare(self) -> None:
        """Makes what attacks start from, and measures how long each victim lives when left alone."""
        base_files(self.good)
        self.must("fit ratings.csv --rank 3 --epochs 20 --threads 1 --quiet --out model")
        self.must("split ratings.csv --test 0.3 --to parquet --out parts")
        shutil.copy(self.good / "parts/train.parquet", self.good / "ratings.parquet")
        self.must("convert ratings.csv --out ratings.s3cmtf --quiet")
        self.must("fit ratings.s3cmtf --rank 3 --epochs 20 --threads 1 --quiet --out model2")
        self.cells = self.must("predict model cells.csv").stdout
        self.runs = {}
        for name, verb, line in VICTIMS:
            self.must(line.format(out=f"whole-{name}"))
            start = time.monotonic()
            self.must(line.format(out=f"timed-{name}"))
            self.runs[name] = (verb, line, time.monotonic() - start)
            shutil.rmtree(self.good / f"timed-{name}", ignore_errors=True)
        (self.good / "broken").mkdir()
        self.checkpoint()

    def checkpoint(self) -> None:
        """A checkpoint of a run that was killed."""
        for patience in range(1, 200):
            line = VICTIMS[0][2].format(out="broken").split()
            with subprocess.Popen([self.binary, *line], cwd=self.good, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
                time.sleep(0.005 * patience)
                run.kill()
            if (self.good / "broken/checkpoint.safetensors").exists():
                return
        sys.exit("siege: no run left a checkpoint")

    def must(self, line: str) -> subprocess.CompletedProcess:
        done = subprocess.run([self.binary, *line.split()], cwd=self.good, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"siege: {line}\nfailed with {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done

    def place(self, case: int) -> Path:
        """A folder for a case, with the files that it may spoil as links."""
        place = self.folder / f"case-{case}"
        place.mkdir()
        for path in self.good.iterdir():
            if path.is_file():
                os.link(path, place / path.name)
        return place

    def run(self, place: Path, words: list[str], most_blocks: int | None = None, small: bool = False, raw_stdout: bool = False) -> subprocess.CompletedProcess:
        """Runs the command to its end and sees to what must hold of every run."""
        command = [str(self.binary), *words]
        if most_blocks is not None or small:
            limits = f"ulimit -f {most_blocks};" if most_blocks is not None else f"ulimit -v {ADDRESS_SPACE};"
            command = ["sh", "-c", f'{limits} exec "$@"', "sh", *command]
        try:
            # Signals stay as Python has them: a file that is too large is an error, and no end of the process.
            done = subprocess.run(command, cwd=place, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE, restore_signals=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"still at it after {PATIENCE:.0f} s: {show(words)}") from None
        judge(done, words, raw_stdout)
        return done

    def count(self, attack: str, **counts: int) -> None:
        with self.lock:
            row = self.counts.setdefault(attack, {"cases": 0, "runs": 0, "kills": 0, "files": 0, "refused": 0, "failed": 0})
            for name, number in counts.items():
                row[name] += number


def show(words: list[str]) -> str:
    return " ".join(ascii(word)[1:-1] for word in words)


def judge(done: subprocess.CompletedProcess, words: list[str], raw_stdout: bool) -> None:
    """What must hold of every run that was left alone."""
    said, code = done.stderr, done.returncode
    tail = said.decode(errors="replace")[-500:]
    if code < 0:
        raise Failed(f"died of {signal.Signals(-code).name}: {show(words)}: {ascii(tail)}")
    if code not in (0, 1, 2) or b"panicked" in said or b"Traceback" in said:
        raise Failed(f"exit code {code}: {show(words)}: {ascii(tail)}")
    if code != 0 and not said.strip():
        raise Failed(f"exit code {code} without a word: {show(words)}")
    if len(said) > LONGEST_STDERR or len(done.stdout) > LONGEST_STDOUT and not raw_stdout:
        raise Failed(f"{len(said)} and {len(done.stdout)} bytes of words: {show(words)}")
    for stream, text in (("stderr", said), ("stdout", b"" if raw_stdout else done.stdout)):
        # JSON has codes for all that a terminal obeys; byte 127 is not one of them.
        obeyed = range(32) if "--json" in words else [*range(32), 127]
        odd = [byte for byte in text if byte in obeyed and byte not in b"\n\t"]
        if odd:
            raise Failed(f"raw control character {odd[0]:#04x} on {stream}: {show(words)}: {ascii(tail)}")


def digest(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder of results that are bits for bits the same in each run: run.json has times in it."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: content for name, content in files.items() if not name.endswith("run.json")}


# What is killed: its name, what its result is, and its line.
FIT = "fit ratings.csv --rank 3 --threads 1 --quiet --checkpoint-every 0.001s --out {out}"
VICTIMS = [
    ("fit", "run", FIT + " --epochs 300"),
    ("fit-sgd", "run", FIT + " --algorithm sgd --deterministic --epochs 300"),
    ("fit-patience", "run", FIT + " --epochs 150 --patience 20"),
    ("fit-stored", "run", FIT.replace("ratings.csv", "ratings.s3cmtf --memory 31MB") + " --epochs 60"),
    ("update", "folder", "update model more.csv --out {out}"),
    ("fold-in", "folder", "fold-in model more.csv --out {out}"),
    ("convert", "file", "convert ratings.csv --quiet --out {out}"),
    ("split", "folder", "split ratings.csv --test 0.3 --to csv --out {out}"),
    ("import", "folder", "import movielens movielens --to csv --out {out}"),
    ("export", "folder", "export model --to csv --out {out}"),
    ("predict", "file", "predict model cells.csv --out {out}"),
    ("report", "file", "report model --out {out}"),
]


def result(path: Path) -> dict[str, bytes] | None:
    """What is at the place of a result: nothing, a file or a folder of files."""
    if path.is_dir():
        return contents(path)
    return {"": path.read_bytes()} if path.is_file() else None


def leftovers(place: Path) -> list[Path]:
    return [path for path in place.rglob(".*") if ".tmp-" in path.name or ".old-" in path.name]


def grow_old(paths: list[Path]) -> None:
    past = time.time() - OLD
    for path in paths:
        os.utime(path, (past, past))


def kill(siege: Siege, rng: random.Random, place: Path, attack: str) -> None:
    """Kills a verb at random moments until it comes to its end, which must be what it would have been."""
    name = attack.removeprefix("kill ")
    kind, line, seconds = siege.runs[name]
    whole = result(siege.good / f"whole-{name}")
    for folder in ("model", "movielens"):
        shutil.copytree(siege.good / folder, place / folder)
    given = contents(place)
    out, before = place / "out", None
    # Over something that is there already, half of the time.
    if kind != "run" and rng.random() < 0.5:
        source = siege.good / f"whole-{name}"
        shutil.copytree(source, out) if source.is_dir() else shutil.copy(source, out)
        before = whole
    for turn in range(40):
        words = line.format(out="out").split()
        if kind == "run" and (out / "checkpoint.safetensors").exists():
            words = ["fit", words[1], "--quiet", "--resume", "out", "--checkpoint-every", "0.001s", "--out", "out"]
            words += ["--memory", "31MB"] if name == "fit-stored" else []
        with subprocess.Popen([siege.binary, *words], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            try:
                said = run.communicate(timeout=rng.uniform(0.0, seconds * (0.5 + 0.1 * turn)))
            except subprocess.TimeoutExpired:
                run.send_signal(rng.choice(OURS[:2]) if rng.random() < 0.9 else signal.SIGINT)
                said = run.communicate(timeout=PATIENCE)
                siege.kills += 1
                siege.count(attack, kills=1, runs=1)
        if run.returncode == 0:
            break
        if run.returncode not in (*(-number for number in OURS), 130):
            judge(subprocess.CompletedProcess(words, run.returncode, *said), words, True)
            raise Failed(f"exit code {run.returncode}: {show(words)}: {ascii(said[1].decode(errors='replace')[-500:])}")
        check_between(out, kind, before, whole, words)
    else:
        siege.run(place, words)
    # The one that came to its end may have been the first; another clears away what the dead have left.
    grow_old(leftovers(place))
    if leftovers(place) or rng.random() < 0.2:
        siege.run(place, line.format(out="out").split())
        if leftovers(place):
            raise Failed(f"left behind: {leftovers(place)[0].name}: {show(words)}")
    if not same(kind, result(out), whole):
        raise Failed(f"another result after kills: {show(words)}")
    siege.count(attack, runs=1)
    after = contents(place)
    for path, content in given.items():
        if after.get(path) != content:
            raise Failed(f"{path} was changed: {show(words)}")


def same(kind: str, found: dict[str, bytes] | None, whole: dict[str, bytes] | None) -> bool:
    """Of a report, which has a time in it, only that it is there."""
    if found is None or whole is None:
        return found is whole
    if kind == "file" and found[""].startswith(b"<!"):
        return whole[""].startswith(b"<!") and found[""].rstrip().endswith(b"</html>")
    return found == whole


def check_between(out: Path, kind: str, before: dict[str, bytes] | None, whole: dict[str, bytes] | None, words: list[str]) -> None:
    """What a killed process leaves under the name of its result: nothing, what was there, or all of it, file by file."""
    found = result(out)
    if kind == "run" or found is None or same(kind, found, whole):
        if found is None and before is not None:
            raise Failed(f"what was there is lost: {show(words)}")
        return
    for name, content in found.items():
        if ".tmp-" not in name and content not in ((before or {}).get(name), (whole or {}).get(name)):
            raise Failed(f"{name or out.name} is neither what it was nor whole: {show(words)}")
    for name in before or {}:
        if name not in found:
            raise Failed(f"{name} is lost: {show(words)}")


def fill(siege: Siege, rng: random.Random, place: Path, attack: str) -> None:
    """Lets no file grow beyond a size, as a full disk does: results are whole or not there, and nothing is left."""
    name = rng.choice([name for name, *_ in VICTIMS])
    kind, line, _ = siege.runs[name]
    whole = result(siege.good / f"whole-{name}")
    for folder in ("model", "movielens"):
        shutil.copytree(siege.good / folder, place / folder)
    given, out, before = contents(place), place / "out", None
    if kind != "run" and rng.random() < 0.5:
        source = siege.good / f"whole-{name}"
        shutil.copytree(source, out) if source.is_dir() else shutil.copy(source, out)
        before = whole
    largest = max(map(len, whole.values()), default=0) // 512 + 2
    words = line.format(out="out").split()
    done = siege.run(place, words, most_blocks=rng.randrange(largest))
    siege.count(attack, runs=1, refused=int(done.returncode != 0))
    if done.returncode == 0 and not same(kind, result(out), whole):
        raise Failed(f"a full disk went unnoticed: {show(words)}")
    # A model that took hours is saved even if its data find no room; the run says so and fails.
    if before and done.returncode != 0 and b"the model is saved" in done.stderr:
        before = {name: content for name, content in before.items() if name != "data.s3cmtf"}
    if kind != "run":
        check_between(out, kind, before, whole, words)
    if leftovers(place):
        raise Failed(f"left behind: {leftovers(place)[0].name}: {show(words)}")
    after = contents(place)
    if any(after.get(path) != content for path, content in given.items()):
        raise Failed(f"an input was changed: {show(words)}")


def flip(siege: Siege, rng: random.Random, place: Path, attack: str) -> None:
    """Changes bits of a model, its data, a checkpoint or a converted file: refused, or the same answer."""
    shutil.copytree(siege.good / "model", place / "model")
    shutil.copytree(siege.good / "broken", place / "broken")
    path, lines = rng.choice([
        ("model/model.safetensors", ["predict model cells.csv", "concepts model --json", "export model --to csv --out out"]),
        ("model/data.s3cmtf", ["recommend model --for user=u1 --mode item --json", "evaluate model test.csv --json", "update model more.csv --out out --json", "report model --out out"]),
        ("model/run.json", ["predict model cells.csv", "report model --out out"]),
        ("broken/checkpoint.safetensors", ["fit ratings.csv --quiet --resume broken --out broken --json"]),
        ("ratings.s3cmtf", ["check ratings.s3cmtf --json", "fit ratings.s3cmtf --rank 2 --epochs 2 --threads 1 --quiet --json"]),
    ])
    line = rng.choice(lines)
    content = flipped(rng, (place / path).read_bytes())
    (place / path).unlink()
    (place / path).write_bytes(content)
    done = siege.run(place, line.split())
    siege.count(attack, runs=1, files=1, refused=int(done.returncode != 0))
    siege.files += 1
    # What is readable has no checksum, and times and paths of temporary folders differ between runs.
    if done.returncode == 0 and path == "model/model.safetensors" and line.startswith("predict") and done.stdout != siege.cells:
        raise Failed(f"a changed model gives another answer: {line}")
    if done.returncode == 0 and path in ("broken/checkpoint.safetensors", "ratings.s3cmtf"):
        raise Failed(f"a changed {path} was taken for whole: {line}")


def feed(siege: Siege, rng: random.Random, place: Path, attack: str) -> None:
    """Has a file read that nobody would write."""
    base = rng.choice(BASES)
    content = mutated(rng, siege.good)(base)
    path = place / hostile_name(rng, base)
    path.write_bytes(content)
    shutil.copytree(siege.good / "model", place / "model", copy_function=os.link)
    name = path.name
    lines = [
        ["check", name],
        ["check", name, "--json"],
        ["fit", name, "--epochs", "2", "--rank", "2", "--threads", "1", "--out", "out"],
        ["convert", name, "--out", "out"],
        ["split", name, "--out", "out"],
        ["predict", "model", name],
        ["evaluate", "model", name],
        ["fold-in", "model", name, "--out", "out"],
        ["fit", "ratings.csv", "--epochs", "2", "--rank", "2", "--threads", "1", "--couple", f"item={name}", "--quiet"],
    ]
    if base.endswith("json"):
        folder = place / "yelp"
        shutil.copytree(siege.good / "yelp", folder)
        (folder / base).write_bytes(content)
        lines = [["import", "yelp", "yelp", "--out", "out", "--to", "csv"]]
    for words in rng.sample(lines, min(2, len(lines))):
        # Results go to a pipe as they are: whoever reads them wants the names of the file.
        done = siege.run(place, words, small=True, raw_stdout=words[0] == "predict")
        siege.count(attack, runs=1, refused=int(done.returncode != 0))
        shutil.rmtree(place / "out", ignore_errors=True)
        (place / "out").unlink(missing_ok=True)
        if path.read_bytes() != content:
            raise Failed(f"{name} was changed: {show(words)}")
        if leftovers(place):
            raise Failed(f"left behind: {leftovers(place)[0].name}: {show(words)}")
    siege.count(attack, files=1)
    siege.files += 1


ATTACKS = [(f"kill {name}", kill, 1) for name, *_ in VICTIMS] + [("full disk", fill, 8), ("flipped bits", flip, 20), ("strange files", feed, 80)]


def besiege(siege: Siege, case: int, keep: bool = False) -> None:
    """One case, which follows from the seed and its number."""
    rng = random.Random(f"{siege.seed} {case}")
    attack, work, _ = rng.choices(ATTACKS, [weight for *_, weight in ATTACKS])[0]
    place, failed = siege.place(case), False
    try:
        work(siege, rng, place, attack)
    except Failed as failure:
        failed = True
        with siege.lock:
            siege.failures.append(f"case {case}, {attack}: {failure}")
    siege.count(attack, cases=1, failed=int(failed))
    if not failed and not keep:
        shutil.rmtree(place)


def table(siege: Siege) -> str:
    columns = ["cases", "runs", "kills", "files", "refused", "failed"]
    order = {attack: place for place, (attack, *_) in enumerate(ATTACKS)}
    rows = [[attack, *(str(counts[name]) for name in columns)] for attack, counts in sorted(siege.counts.items(), key=lambda row: order[row[0]])]
    total = ["all", *(str(sum(counts[name] for counts in siege.counts.values())) for name in columns)]
    lines = [["attack", *columns], *rows, total]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns) + 1)]
    return "\n".join(line[0].ljust(widths[0]) + "".join(cell.rjust(width + 2) for cell, width in zip(line[1:], widths[1:])) for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--case", type=int)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="siege-"))
    siege = Siege(args.binary.resolve(), folder, args.seed)
    end = time.monotonic() + args.seconds
    numbers = iter(range(10**9))

    def work() -> None:
        while time.monotonic() < end and len(siege.failures) < 50:
            with siege.lock:
                case = next(numbers)
            besiege(siege, case)

    if args.case is not None:
        besiege(siege, args.case, keep=True)
    else:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for job in [pool.submit(work) for _ in range(args.jobs)]:
                job.result()
    print(table(siege))
    for failure in siege.failures[:50]:
        print(failure)
    if siege.failures:
        sys.exit(f"{len(siege.failures)} failed; their files are in {folder}")
    if args.case is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
