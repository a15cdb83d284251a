"""What the pages weigh, and how soon the first one is there."""

from pathlib import Path

import seqloom

STUDIO = Path(seqloom.__file__).parent / "studio"
KB = 1024


def weight(pattern):
    return sum(path.stat().st_size for path in STUDIO.rglob(pattern))


def test_script_and_style_are_small():
    assert weight("*.js") <= 200 * KB
    assert weight("*.js") + weight("*.css") <= 250 * KB


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


def test_the_first_view_is_there_within_a_second(studio, page):
    studio.need("reverse")
    page.goto(f"{studio.address}/models")  # the server is warm, the browser's copies are fresh
    took = []
    for _ in range(3):
        page.goto("about:blank")
        page.goto(f"{studio.address}/")
        page.wait_for_selector("tr[data-run=reverse]")
        took.append(page.evaluate("() => performance.now()"))
    assert min(took) < 1000, f"milliseconds: {took}"
