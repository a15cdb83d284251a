"""Size budgets of the pages; benchmarks/studio_pages.py measures their load times."""

from pathlib import Path

import seqloom

from .browsing import ready

STUDIO = Path(seqloom.__file__).parent / "studio"
KB = 1024


def test_every_page_loads_little_script_and_style(studio, page):
    """Pages load what they need when they are opened; none needs all of it."""
    run = studio.need("reverse")
    sizes = {}
    page.on("response", lambda answer: seen.append(answer))
    for path in (
        "/",
        f"/run/{run}",
        "/train",
        "/compare",
        f"/inside/{run}",
        f"/try/{run}",
        "/serve",
        "/models",
        "/api",
    ):
        seen = []
        page.goto("about:blank")
        page.goto(studio.address + path)
        ready(page)
        loaded = {STUDIO / one.url.split("/static/")[1] for one in seen if "/static/" in one.url}
        script, style = (
            sum(p.stat().st_size for p in loaded if p.suffix == kind) for kind in (".js", ".css")
        )
        assert 0 < script <= 200 * KB, f"{path}: {script} bytes of script"
        assert 0 < script + style <= 250 * KB, f"{path}: {script + style} bytes"
        sizes[path] = script
    assert sizes["/"] <= 80 * KB, f"the first view is the lightest: {sizes}"


def test_files_are_rooms_one_can_look_over():
    long = {
        p.name: n for p in STUDIO.rglob("*.js") if (n := len(p.read_text().splitlines())) >= 400
    }
    assert long == {}


def test_nothing_is_loaded_from_elsewhere_and_no_script_stands_in_the_page():
    page = (STUDIO / "index.html").read_text()
    assert page.count("<script") == page.count("<script src=") + page.count(
        '<script type="module" src='
    )
    for path in STUDIO.rglob("*.*s"):
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text.replace("https?://", ""), path
