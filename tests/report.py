"""Opens the report of a made-up run in a browser and uses it as a reader would.

    python3 tests/report.py BINARY                  checks
    python3 tests/report.py BINARY --pictures DIR   also leaves pictures of it

Needs Chromium with its driver, and selenium. As root on Debian both are set up where they are missing; selenium goes into a
folder of its own below the target folder. What cannot be set up is a failure.
"""

from __future__ import annotations

import http.server
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ODD = "<script>alert(1)</script>"
SELENIUM = "selenium>=4.20,<5"
WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}


def set_up() -> None:
    """Makes sure that there is a browser, and runs this file again where selenium is."""
    if not (browser() and shutil.which("chromedriver")):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            sys.exit("report: chromium and chromedriver are missing: install them (Debian: chromium chromium-driver)")
        install = ["apt-get", "install", "-y", "--no-install-recommends", "chromium", "chromium-driver"]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if subprocess.run(install, env=environment, capture_output=True).returncode != 0:
            subprocess.run(["apt-get", "update"], env=environment, check=True, stdout=subprocess.DEVNULL)
            subprocess.run(install, env=environment, check=True, stdout=subprocess.DEVNULL)
    try:
        import selenium  # noqa: F401
    except ImportError:
        folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "report-venv"
        python = folder / "bin" / "python3"
        if Path(sys.executable).parent == python.parent:
            sys.exit("report: selenium is installed, but cannot be imported")
        if not python.exists():
            venv.create(folder, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", SELENIUM], check=True)
        os.execv(python, [str(python), *sys.argv])


def browser() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def make_tables(folder: Path) -> None:
    """Ratings of films by people, whose tastes are their genres; one film has a name that a page must not run."""
    r = random.Random(11)
    genres = ["Action", "Comedy", "Crime", "Drama", "Romance", "War"]
    first = ["Ada", "Ben", "Cleo", "Dev", "Ema", "Finn", "Gia", "Hugo", "Ines", "Jon", "Kim", "Leo", "Mia", "Noor", "Ole", "Pia"]
    last = ["Abel", "Berg", "Cruz", "Dahl", "Eden", "Falk", "Gold", "Hale", "Ito", "Jung", "Kern", "Lund", "Mora", "Nash", "Ortiz", "Pike"]
    people = [f"{a} {b}" for a in first for b in last]
    r.shuffle(people)
    films = [f"The {a} {b}" for a in ("Quiet", "Last", "Golden", "Secret", "Long", "Broken", "Silent", "Lost", "Second", "First")
             for b in ("Summer", "River", "Letter", "Road", "Garden", "Winter", "Promise", "Island", "Answer", "Crossing", "Harbour", "Night")]
    films[7] = ODD
    # Three groups of people, of two genres each.
    tastes = [[r.gauss(1.0 if g // 2 == i % 3 else 0.0, 0.15) for g in range(len(genres))] for i in range(len(people))]
    kinds = [r.sample(range(len(genres)), r.choice((1, 1, 2))) for _ in films]
    with open(folder / "films.csv", "w") as table:
        table.write("film,genres\n")
        table.writelines(f"{film},{'|'.join(genres[g] for g in kind)}\n" for film, kind in zip(films, kinds))
    lines = []
    for _ in range(16000):
        u, i, t = min(len(people) - 1, int(r.expovariate(1 / 70))), r.randrange(len(films)), r.randrange(24)
        stars = 2.4 + 2.2 * sum(tastes[u][g] / len(kinds[i]) for g in kinds[i]) + 0.25 * (t // 8) + r.gauss(0, 0.4)
        # Everybody likes the odd film, so that its name is in every part of the page.
        stars += 1.0 if i == 7 else 0.0
        lines.append(f"{people[u]},{films[i]},{min(5.5, max(0.5, stars)):.1f},{2016 + t // 12}-{t % 12 + 1:02}-11\n")
    heading = "user,film,stars,date\n"
    (folder / "ratings.csv").write_text(heading + "".join(lines[3000:]))
    (folder / "test.csv").write_text(heading + "".join(lines[:3000]))


def make_report(binary: str, folder: Path) -> None:
    def run(line: str) -> None:
        done = subprocess.run([binary, *line.split(" ")], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"report: s3cmtf {line}\n{done.stderr}")

    data = "--modes user,film,date:month --value stars --couple film=films.csv:film,genres,split=|,zeros"
    run(f"convert ratings.csv {data} --duplicates last --out data.s3cmtf")
    run("fit data.s3cmtf --test test.csv --rank 8 --out model --quiet")
    run("report model -o report.html")


class Reader:
    """A browser with the page open, over HTTP so that requests of the page are seen."""

    def __init__(self, folder: Path, dark: bool, size: tuple[int, int]) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        self.requests: list[str] = []
        requests = self.requests

        class Counting(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *given):
                super().__init__(*given, directory=str(folder))

            def do_GET(self):
                requests.append(self.path)
                super().do_GET()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counting)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        options = webdriver.ChromeOptions()
        options.binary_location = browser()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage",
                     "--no-first-run", "--hide-scrollbars", f"--user-data-dir={tempfile.mkdtemp(dir=folder)}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=size[0] < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.driver.get(f"http://127.0.0.1:{self.server.server_port}/report.html")

    def call(self, method: str, **given):
        return self.driver.execute_cdp_cmd(method, given)

    def js(self, script: str, *given):
        return self.driver.execute_script(script, *given)

    def picture(self, path: Path) -> None:
        import base64

        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, format="png", clip={
            "x": 0, "y": 0, "width": self.js("return innerWidth"), "height": self.js("return document.documentElement.scrollHeight"), "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self.driver.quit()
        self.server.shutdown()


def check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"report: {what}")


def check_quiet(reader: Reader) -> None:
    """No error on the console, and no request but that of the page."""
    faults = [entry["message"] for entry in reader.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    check(not faults, f"the console says {faults}")
    check(reader.requests == ["/report.html"], f"requests: {reader.requests}")
    events = [json.loads(entry["message"])["message"] for entry in reader.driver.get_log("performance")]
    asked = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # The browser's own first tab asks for things too.
    asked = [one["request"]["url"] for one in asked if one["documentURL"].startswith("http://127.0.0.1:")]
    elsewhere = [url for url in asked if not url.startswith(("data:", "http://127.0.0.1:"))]
    check(len(asked) > 0 and not elsewhere, f"the page asks for {elsewhere}")


def check_charts(reader: Reader) -> None:
    """Every chart has something drawn in it, and all numbers in it are numbers."""
    # Charts are drawn when their width is known, which a busy machine may take a while to say.
    until = time.monotonic() + 20
    while True:
        charts = reader.js("""return [...document.querySelectorAll('[data-chart]')].map(holder => ({
            kind: holder.dataset.chart,
            marks: holder.querySelectorAll('svg rect, svg circle').length,
            bad: /NaN|undefined|Infinity/.test(holder.innerHTML) }))""")
        if all(chart["marks"] > 1 for chart in charts) or time.monotonic() > until:
            break
        time.sleep(0.2)
    kinds = {chart["kind"] for chart in charts}
    expected = {"values", "spread", "over", "epochs", "seconds", "residuals", "calibration", "segment", "core", "curve", "map", "gap"}
    check(kinds == expected, f"charts {sorted(kinds ^ expected)} are missing or new")
    for chart in charts:
        check(chart["marks"] > 1, f"the chart {chart['kind']} has {chart['marks']} marks")
        check(not chart["bad"], f"the chart {chart['kind']} has numbers that are none")


def check_labels(reader: Reader) -> None:
    """No word of a chart is cut off at the edge of its picture."""
    cut = reader.js("""return [...document.querySelectorAll('[data-chart] svg')].flatMap(picture => {
        const frame = picture.getBoundingClientRect();
        return [...picture.querySelectorAll('text')].filter(text => {
            const box = text.getBoundingClientRect();
            return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1);
        }).map(text => picture.closest('[data-chart]').dataset.chart + ': ' + text.textContent);
    })""")
    check(not cut, f"cut off: {cut}")


def check_odd_name(reader: Reader) -> None:
    text = reader.js("return document.querySelector('main').textContent")
    check(ODD in text, f"the name {ODD} is not shown as text")
    check(reader.js("return document.querySelectorAll('script').length") == 2, "there are scripts that are not the page's own")
    check(reader.js("return performance.getEntriesByType('resource').length") == 0, "the page loads something")


def check_search(reader: Reader) -> None:
    from selenium.webdriver.common.by import By

    table = lambda: reader.js("return document.getElementById('person-tables').textContent")
    names = reader.js("return [...document.querySelectorAll('#people option')].map(option => option.value)")
    check(len(names) > 100, f"{len(names)} people can be searched")
    before, wanted = table(), names[20]
    box = reader.driver.find_element(By.ID, "person")
    box.send_keys(wanted)
    check(table() != before and wanted in table(), f"the search for {wanted} shows {table()[:80]}")
    status = reader.js("return document.getElementById('matches').textContent")
    check(wanted in status, f"the search says {status}")
    box.clear()
    box.send_keys("zzzz")
    check("zzzz" in reader.js("return document.getElementById('matches').textContent"), "a name that is not there is not told")
    rows = reader.js("return document.querySelectorAll('#person-tables tbody tr').length")
    check(rows >= 10, f"{rows} rows of recommendations")
    box.clear()


def check_theme(reader: Reader) -> None:
    from selenium.webdriver.common.by import By

    paper = lambda: reader.js("return getComputedStyle(document.body).backgroundColor")
    before = paper()
    reader.driver.find_element(By.ID, "theme").click()
    check(paper() != before, f"the theme stays {before}")
    reader.driver.find_element(By.ID, "theme").click()
    check(paper() == before, "the theme does not come back")


def check_keys(reader: Reader) -> None:
    """Everything is reached by the tab key, and arrow keys go through a chart."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    reader.js("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached, where = set(), "return [document.activeElement.id || document.activeElement.closest('[data-chart]')?.dataset.chart || document.activeElement.tagName]"
    for _ in range(200):
        ActionChains(reader.driver).send_keys(Keys.TAB).perform()
        reached.update(reader.js(where))
        if "person" in reached:
            break
    for wanted in ("theme", "epochs", "core", "map", "gap", "SELECT", "person"):
        check(wanted in reached, f"the tab key does not reach {wanted}, but {sorted(reached)}")
    reader.js("document.querySelector('[data-chart=map] svg').focus()")
    ActionChains(reader.driver).send_keys(Keys.ARROW_RIGHT).perform()
    first = reader.js("return document.getElementById('tip').hidden ? null : document.getElementById('tip').textContent")
    ActionChains(reader.driver).send_keys(Keys.ARROW_RIGHT).perform()
    second = reader.js("return document.getElementById('tip').textContent")
    check(first is not None and "cluster" in first and first != second, f"arrow keys show {first}, {second}")
    ActionChains(reader.driver).send_keys(Keys.ESCAPE).perform()
    check(reader.js("return document.getElementById('tip').hidden"), "escape does not hide the tip")


def check_slices(reader: Reader) -> None:
    cells = "return [...document.querySelectorAll('[data-chart=core] rect')].map(cell => cell.style.fill).join()"
    before = reader.js(cells)
    reader.js("""const choice = document.querySelector('#slices select');
        choice.value = 1; choice.dispatchEvent(new Event('change'))""")
    check(reader.js(cells) != before, "another slice of the core looks the same")


def check_width(reader: Reader, size: tuple[int, int]) -> None:
    wide = reader.js("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    check(wide[1] == size[0] and wide[0] <= wide[1], f"at {size[0]} pixels the page is {wide[0]} wide")


def main() -> None:
    set_up()
    pictures = Path(sys.argv[sys.argv.index("--pictures") + 1]) if "--pictures" in sys.argv else None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        make_tables(folder)
        make_report(str(Path(sys.argv[1]).resolve()), folder)
        page = (folder / "report.html").read_text()
        check(len(page.encode()) < 3_000_000, f"the page has {len(page.encode())} bytes")
        links = re.findall(r"(?:src|href)\s*=\s*[\"']?(?!#|data:)([^\"'> ]+)", page)
        check(not links, f"the page refers to {links}")
        for dark in (False, True):
            for device, size in WIDTHS.items():
                reader = Reader(folder, dark, size)
                try:
                    check_width(reader, size)
                    check_charts(reader)
                    check_labels(reader)
                    check_odd_name(reader)
                    if pictures:
                        pictures.mkdir(parents=True, exist_ok=True)
                        reader.picture(pictures / f"{device}-{'dark' if dark else 'light'}.png")
                    check_theme(reader)
                    check_slices(reader)
                    check_search(reader)
                    check_keys(reader)
                    check_width(reader, size)
                    check_quiet(reader)
                finally:
                    reader.close()
        if pictures:
            shutil.copy(folder / "report.html", pictures / "report.html")
        # The same with a hundred thousand times the entries: numbers of nine digits.
        large, changed = re.subn(r'("count":)([1-9]\d*)', r"\g<1>\g<2>00000", page)
        check(changed > 20, f"{changed} counts in the page")
        (folder / "report.html").write_text(large)
        reader = Reader(folder, False, WIDTHS["desktop"])
        try:
            check_charts(reader)
            check_labels(reader)
            if pictures:
                reader.picture(pictures / "large.png")
        finally:
            reader.close()
    print("report: opens, draws, searches, turns dark and is read by keys, at two widths")


if __name__ == "__main__":
    main()
