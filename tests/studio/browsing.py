"""A server in a process of its own, and what a page may not do."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tests.workshop import Workshop

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # a page that stays keeps the process that draws: see Window
)
WIDE, NARROW = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
PATIENCE = 20_000  # milliseconds: the machine may be busy


def chromium() -> str | None:
    """The browser, where there is one."""
    asked = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    return asked if Path(asked).exists() else shutil.which("chromium")


class Server:
    """`seqloom studio` over a folder of runs; `address` has no slash at its end."""

    def __init__(self, runs: Path, workshop: Workshop, *flags: str, port: int = 0) -> None:
        self.runs, self.workshop, self._flags, self.port = runs, workshop, flags, port
        runs.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self) -> None:
        """Start it; again on the same port where it was stopped."""
        self._log = (self.runs.parent / f"{self.runs.name}.studio.log").open("ab")
        command = [sys.executable, "-m", "seqloom", "studio", "--no-browser", "--json"]
        command += ["--port", str(self.port), "--runs-dir", str(self.runs), *self._flags]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        told = json.loads(self.process.stdout.readline())
        self.whole_address = told["address"]
        self.address = self.whole_address.split("/?")[0].rstrip("/")
        self.port = int(self.address.rsplit(":", 1)[1])

    def stop(self) -> None:
        """Stop it as Ctrl-C does; what it has started goes on."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self._log.close()

    def need(self, *names: str) -> str:
        """Prepared runs in this server's folder; the first one's id."""
        return [self.workshop.copy(name, self.runs) for name in names][0]

    def get(self, path: str) -> Any:
        """GET below /api/v1."""
        with urllib.request.urlopen(f"{self.address}/api/v1{path}", timeout=60) as answer:
            return json.load(answer)

    def openapi(self) -> Any:
        """The description of the web API."""
        with urllib.request.urlopen(f"{self.address}/openapi.json", timeout=60) as answer:
            return json.load(answer)

    def post(self, path: str, body: Any) -> Any:
        """POST below /api/v1."""
        request = urllib.request.Request(
            f"{self.address}/api/v1{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


class Window:
    """A browser's window in which one test after another opens a page.

    To start the process that draws a page takes longer than most tests do on it. Here one page stays
    open, so that the process stays, with all script compiled; a page of the same site, whatever its
    port, is drawn by it, too. What pages have kept is cleared after each test.
    """

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(viewport=WIDE, reduced_motion="reduce")
        self.context.set_default_timeout(PATIENCE)
        self._stays = self.context.new_page()
        self._stays.route("**/*", lambda it: it.fulfill(content_type="text/html", body="stays"))
        self._stays.goto("http://127.0.0.1/")
        self._storage = self.context.new_cdp_session(self._stays)

    def clear(self) -> None:
        """Close what a test has opened, and forget what its pages have kept."""
        seen = {page.url for page in self.context.pages if page is not self._stays}
        for page in self.context.pages:
            if page is not self._stays:
                page.close()
        self.context.clear_cookies()
        for url in {"/".join(address.split("/")[:3]) for address in seen}:
            if url.startswith("http"):
                kept = {"origin": url, "storageTypes": "local_storage,indexeddb,cache_storage"}
                self._storage.send("Storage.clearDataForOrigin", kept)

    def close(self) -> None:
        """Close all."""
        self.context.close()


FRAME = "() => new Promise(requestAnimationFrame)"


class Watch:
    """Everything that a page did wrong: requests elsewhere, errors in the console, exceptions."""

    def __init__(self, page: Page) -> None:
        self.page, self.wrong = page, []
        self.allowed: set[str] = set()
        self._asked: set[Any] = set()
        page.on("request", self._request)
        page.on("requestfinished", lambda request: self._asked.discard(request))
        page.on("requestfailed", lambda request: self._asked.discard(request))
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.wrong.append(f"exception: {error}"))

    def allow(self, *parts: str) -> None:
        """Console errors with one of these parts are meant: "404", "ERR_CONNECTION_REFUSED"."""
        self.allowed |= set(parts)

    def _request(self, request: Any) -> None:
        local = ("http://127.0.0.1:", "data:", "blob:http://127.0.0.1:")
        if not request.url.startswith(local):
            self.wrong.append(f"request outside: {request.url}")
        if not request.url.partition("?")[0].endswith(("/events", ":estimate")):  # those last
            self._asked.add(request)

    def settle(self) -> None:
        """Wait until all that the page has asked for is answered and shown."""
        end = time.monotonic() + PATIENCE / 1000
        quiet = 0
        while quiet < 2:
            assert time.monotonic() < end, [request.url for request in self._asked]
            self.page.evaluate(FRAME)
            quiet = 0 if self._asked else quiet + 1

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.wrong.append(f"console: {message.text} {message.location.get('url', '')}")

    def check(self) -> None:
        """Fail on what was wrong and not allowed."""
        wrong = [line for line in self.wrong if not any(part in line for part in self.allowed)]
        assert not wrong, "\n".join(wrong)


SIDEWAYS = """async () => {
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame); // figures draw themselves anew
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  return [...document.querySelectorAll("body *")]
    .filter((node) => node.getBoundingClientRect().right > wide + 1)
    .slice(0, 8).map((node) => node.outerHTML.slice(0, 140));
}"""


def check_width(page: Page) -> None:
    """No sideways scroll, at 1200 and at 360 pixels; the page is left as wide as it was."""
    before = page.viewport_size
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        found = page.evaluate(SIDEWAYS)
        assert not found, f"wider than {size['width']} px: {found}"
    page.set_viewport_size(before)


def ready(page: Page) -> None:
    """Wait until the page of this address is there."""
    page.wait_for_function(
        "() => document.getElementById('main')?.dataset.ready === location.pathname",
        timeout=PATIENCE,
    )


def shoot(page: Page, name: str) -> None:
    """A picture of the whole page for people, where STUDIO_SHOTS names a folder."""
    folder = os.environ.get("STUDIO_SHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(Exception):
            page.screenshot(path=f"{folder}/{name}.png", full_page=True)
