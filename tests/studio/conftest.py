"""A real browser on a real server: fixtures of the studio's tests.

`studio` is a server that all tests of a worker share; `studio.need("reverse")` puts a prepared run
into its folder. `serve` starts one of a test's own. `page` fails the test at its end on any request
outside, any error in the console and any exception; `watch.allow("404")` names those that are meant.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install playwright")

from playwright.sync_api import Browser, Page, sync_playwright

from tests.workshop import Workshop, shared

from .browsing import FLAGS, Server, Watch, Window, chromium, ready
from .prepared import PLANS, write


@pytest.fixture(scope="session")
def program() -> str:
    """Where Chromium is."""
    found = chromium()
    if found is None:
        pytest.skip("Chromium is not installed, so the pages of the studio are not tested")
    return found


@pytest.fixture(scope="package")
def browser(program: str) -> Iterator[Browser]:
    """Chromium without a window.

    It is closed when other tests follow: as long as it is there, its loop runs in this thread, and
    no other can. With pytest-xdist tests of the server may well come after those of the studio.
    """
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Workshop:
    """Prepared runs."""
    folder = shared(tmp_path_factory, worker_id) / "studio-workshop"
    return Workshop(folder, PLANS, write, **{"training.probes": 2})


@pytest.fixture(scope="session")
def studio(
    tmp_path_factory: pytest.TempPathFactory, workshop: Workshop, program: str
) -> Iterator[Server]:
    """One server for all tests that only look."""
    server = Server(tmp_path_factory.mktemp("studio") / "runs", workshop)
    yield server
    server.stop()


@pytest.fixture
def serve(tmp_path: Path, workshop: Workshop, program: str) -> Iterator[Callable[..., Server]]:
    """Servers of this test's own: serve("--token", "secret")."""
    started: list[Server] = []

    def start(*flags: str) -> Server:
        started.append(Server(tmp_path / f"runs{len(started)}", workshop, *flags))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="package")
def window(browser: Browser) -> Iterator[Window]:
    """Where the pages of all tests are opened."""
    opened = Window(browser)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def blank(studio: Server, window: Window) -> Iterator[Page]:
    """A page that the tests of a module share, to call functions of its scripts and to draw on.

    To open a page takes longer than such a test.
    """
    watching = Watch(window.context.new_page())
    watching.page.goto(f"{studio.address}/api")
    ready(watching.page)
    yield watching.page
    window.clear()
    watching.check()


@pytest.fixture
def watch(window: Window) -> Iterator[Watch]:
    """What the page of this test does; asked at its end."""
    watching = Watch(window.context.new_page())
    yield watching
    window.clear()
    watching.check()


@pytest.fixture
def page(watch: Watch) -> Page:
    """A page that may not misbehave."""
    return watch.page
