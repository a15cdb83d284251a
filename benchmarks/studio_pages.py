"""Load times of the studio's pages: first view, picture of gates, bytes of script.

The first view is timed in the page: from the navigation until the list of runs is rendered, with a
cold and a warm browser cache; the server is running. The picture of gates has 512 units over 1,000
tokens; it is built, laid out and painted. Both are timed on the machine as it is, and beside busy
processes, one per core by default. The bytes are those of the files that a page loads until it is
ready, with a cold cache.

    python benchmarks/studio_pages.py --rounds 15
"""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from surroundings import arguments, cores, in_words, machine, positive, report, say, table

AIMS = {"first view, cold": 1000.0, "first view, warm": 1000.0, "gates": 150.0}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
NOUNS, VERBS = ("cat", "dog", "bird", "fish"), ("sees", "hears", "likes")
TEXT = "the dog hears a cat"
SMALL = ["model.embedding_size=16", "model.hidden_size=24", "training.epochs=1"]
PATIENCE = 60_000  # milliseconds: the machine is meant to be busy
SEEN = """() => {
  const look = () => {
    if (document.querySelector("tr[data-run]")) globalThis.seen = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
GATES = """async () => {
  const { heatmap } = await import("/static/js/figures/heatmap.js");
  const { columnsOf } = await import("/static/js/figures/tokens.js");
  const count = (length, each) => Array.from({ length }, (_, place) => each(place));
  const values = count(1000, (t) => count(512, (c) => (Math.sin(t * c) + 1) / 2));
  const columns = columnsOf(count(1000, () => "a")), order = count(512, (c) => 511 - c);
  const main = document.getElementById("main");
  await new Promise(requestAnimationFrame);
  const before = performance.now(), made = heatmap({ values, order, columns, name: "forget" });
  main.replaceChildren(made);
  made.getBoundingClientRect();
  made.querySelector("canvas").getContext("2d").getImageData(0, 0, 1, 1); // until all is painted
  return performance.now() - before;
}"""
LOADED = """() => performance.getEntriesByType("resource")
  .map((one) => [one.name, one.decodedBodySize])"""
READY = "() => document.getElementById('main')?.dataset.ready === location.pathname"


def main() -> None:
    """Time the pages as the machine is and beside busy processes, weigh them, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, default=15, help="(default: %(default)s)")
    parser.add_argument("--runs", type=positive, default=20, help="in the list; %(default)s")
    parser.add_argument("--busy", type=positive, default=cores(), help="processes; %(default)s")
    given = parser.parse_args()
    chromium = browser_here()
    facts = machine(given.threads)
    with (
        tempfile.TemporaryDirectory() as name,
        studio(prepared(Path(name), given.runs)) as address,
        window(chromium) as browser,
    ):
        say("the pages as the machine is")
        times = {"as it is": timed(browser, address, given.rounds)}
        say(f"the pages beside {given.busy} busy processes")
        with busy(given.busy):
            times[f"beside {given.busy} busy"] = timed(browser, address, given.rounds)
        say("what the pages weigh")
        sizes = weighed(browser, address)
        version = browser.version
    results = {
        "milliseconds": times,
        "aims": AIMS,
        "bytes": sizes,
        "runs": given.runs,
        "rounds": given.rounds,
        "chromium": version,
        "machine": facts,
    }
    report(shown(results), results, given.json)


def browser_here() -> str:
    """Chromium; where it or playwright is missing, a word about it, and the script ends."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if importlib.util.find_spec("playwright") is None:
        print("Skipped: the package playwright is not there (pip install playwright).")
    elif found is None or not Path(found).exists():
        print("Skipped: there is no Chromium here (CHROMIUM names one that is elsewhere).")
    else:
        return found
    sys.exit(0)


def prepared(folder: Path, count: int) -> Path:
    """A folder of runs: a network, and one that counts, again and again under other names."""
    runs, file = folder / "runs", folder / "text.txt"
    lines = [" ".join(words) for words in product(("the", "a"), NOUNS, VERBS, ("the", "a"), NOUNS)]
    file.write_text("\n".join(lines) + "\n")
    settings = [f"--set={setting}" for setting in SMALL]
    for name, model, more in (("counts", "ngram", []), ("network", "recurrent", settings)):
        command = [sys.executable, "-m", "seqloom", "train", "language", str(file), "-m", model]
        command += ["--name", name, "--runs-dir", str(runs), "--quiet", *more]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for number in range(count - 2):
        shutil.copytree(runs / "counts", runs / f"counts-{number}")
    return runs


@contextlib.contextmanager
def studio(runs: Path) -> Iterator[str]:
    """The address of a server over the runs, until the block ends."""
    command = [sys.executable, "-m", "seqloom", "studio", "--port", "0", "--no-browser", "--json"]
    process = subprocess.Popen(
        [*command, "--runs-dir", str(runs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield json.loads(process.stdout.readline())["address"].rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


@contextlib.contextmanager
def window(chromium: str) -> Iterator[Any]:
    """A browser without a window, until the block ends."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everybody has it

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes that do nothing, as hard as they can."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def timed(browser: Any, address: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each round."""
    found: dict[str, list[float]] = {name: [] for name in AIMS}
    for _ in range(rounds):
        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        context.add_init_script(f"({SEEN})()")
        page = context.new_page()
        for kind in ("cold", "warm"):
            page.goto("about:blank")
            page.goto(f"{address}/")
            page.wait_for_function("() => globalThis.seen")
            found[f"first view, {kind}"].append(page.evaluate("() => globalThis.seen"))
        found["gates"].append(page.evaluate(GATES))
        context.close()
    return found


def weighed(browser: Any, address: str) -> dict[str, dict[str, int]]:
    """Bytes of script and style that each page loads."""
    body = json.dumps({"text": f"{TEXT}\n" * 30, "name": "text.txt"}).encode()
    asked = Request(f"{address}/api/v1/datasets", body, {"Content-Type": "application/json"})
    with urlopen(asked) as answer:
        data = json.load(answer)["id"]
    pages = {
        "start": "/",
        "data": f"/data/{data}",
        "train": f"/train?data={data}&task=language",
        "run": "/run/network",
        "compare": "/compare?runs=network,counts",
        "look inside": f"/inside/network?text={TEXT.replace(' ', '+')}",
        "try": "/try/network",
        "serve": "/serve?model=network",
        "models": "/models",
        "a model": "/models/network",
        "api": "/api",
    }
    return {name: loaded(browser, address + path) for name, path in pages.items()}


def loaded(browser: Any, address: str) -> dict[str, int]:
    """The bytes of one page, in a browser that has seen none of them."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(READY)
    entries = page.evaluate(LOADED)
    context.close()
    return {
        kind: sum(size for name, size in entries if name.partition("?")[0].endswith(ending))
        for kind, ending in (("script", ".js"), ("style", ".css"))
    }


def shown(results: dict[str, Any]) -> str:
    """Both tables, and the machine's facts."""
    head = ["milliseconds", "machine", "median", "worst", "aim"]
    rows = [
        [name, state, f"{statistics.median(took):.0f}", f"{max(took):.0f}", f"{AIMS[name]:,.0f}"]
        for name in AIMS
        for state, took in (
            (state, found[name]) for state, found in results["milliseconds"].items()
        )
    ]
    sizes = [
        [name, f"{found['script'] / 1024:.0f}", f"{found['style'] / 1024:.0f}"]
        for name, found in results["bytes"].items()
    ]
    many = f"{results['rounds']} rounds, {results['runs']} runs in the list"
    return "\n\n".join(
        [
            table(head, rows, words=2),
            table(["page", "KiB of script", "KiB of style"], sizes),
            f"{many}; Chromium {results['chromium']}. {in_words(results['machine'])}",
        ]
    )


if __name__ == "__main__":
    main()
