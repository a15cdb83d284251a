"""The page Try: a form for each task, outputs, downloads, links."""

import itertools
import json

from .browsing import NARROW, WIDE, check_width, ready, shoot

LINE = "the dog hears"
SERIES = "month,sold\n" + "".join(
    f"20{10 + n // 12}-{n % 12 + 1:02},{100 + n}\n" for n in range(48)
)


def try_it(page, studio, run, query=""):
    studio.need(run)
    page.goto(f"{studio.address}/try/{run}{query}")
    ready(page)


def generate(page, symbols):
    page.fill("#try-text", LINE)
    page.fill("#try-limit", str(symbols))
    page.fill("#try-temperature", "1.5")
    page.click("button:text('Generate')")


def test_a_text_streams_and_another_symbol_can_be_picked(studio, page):
    try_it(page, studio, "writer")
    generate(page, 24)
    page.wait_for_selector(".written-text[data-done=true]")
    symbols = page.locator(".generated-token")
    written = symbols.all_inner_texts()
    assert 0 < len(written) <= 24
    assert "ms on this computer" in page.inner_text(".try-foot")
    shoot(page, "40-generate")
    place = min(3, len(written) - 1)
    symbols.nth(place).click()
    others = page.locator(".alternatives .share-row")
    assert others.count() == 5
    names = others.evaluate_all("all => all.map(one => one.dataset.name)")
    other = next(name for name in names if name != written[place] and len(name) == 1)
    shoot(page, "41-pick-another")
    others.nth(names.index(other)).locator("button").click()
    page.wait_for_function(
        "text => document.querySelector('.picked')?.textContent === text",
        arg="".join(written[:place]) + other,
    )
    page.wait_for_selector(".written-text[data-done=true]")
    page.click(".try-foot >> text=JSON")
    assert "text" in json.loads(page.inner_text(".try-foot pre"))
    page.set_viewport_size(NARROW)
    shoot(page, "49-generate-360")
    page.set_viewport_size(WIDE)
    check_width(page)


def test_escape_stops_a_text(studio, page):
    try_it(page, studio, "endless")
    page.fill("#try-text", "bcd")
    page.fill("#try-limit", "1024")
    slow = {"offline": False, "latency": 0, "downloadThroughput": 20_000, "uploadThroughput": -1}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", slow)
    page.click("button:text('Generate')")
    page.wait_for_function("() => document.querySelectorAll('.generated-token').length > 3")
    page.keyboard.press("Escape")
    page.wait_for_selector(".written-text[data-done=true]")
    count = page.locator(".generated-token").count()
    assert 3 < count < 1024
    assert f"Stopped after {count} tokens." in page.inner_text(".try-result")
    check_lines(page)
    page.wait_for_timeout(300)
    assert page.locator(".generated-token").count() == count
    assert page.is_enabled("button:text('Generate')")


def check_lines(page):
    """Each line of a generated text is a line of its own on the page, too."""
    tokens = page.locator(".generated-token").evaluate_all(
        "all => all.map(one => [one.textContent, one.getClientRects()[0].top])"
    )
    for (token, top), (_, below) in itertools.pairwise(tokens):
        assert below > top + 5 if token == "\n" else below >= top
    assert "\n" in [token for token, _ in tokens[:-1]], "there is nothing to see"


def test_a_translation_with_its_alignment_and_the_best_answers(studio, page):
    try_it(page, studio, "backwards", "?text=a+b+c+d+e")
    page.wait_for_selector(".nbest li")
    body = {"inputs": ["a b c d e"], "parameters": {"beam": 4, "nbest": 3}}
    wanted = studio.post("/models/backwards:predict", body)["outputs"][0]
    assert page.inner_text(".answer") == (wanted["output"] or "(empty)")
    listed = page.locator(".nbest li bdi").all_inner_texts()
    assert listed == [one["output"] for one in wanted["nbest"]]
    page.wait_for_selector(".ribbon")
    shoot(page, "42-translate")
    page.click("text=Explain this")
    page.wait_for_url("**/inside/backwards?text=a+b+c+d+e")
    check_width(page)


def test_many_lines_become_a_table(studio, page):
    try_it(page, studio, "classifier")
    page.fill("#try-text", "a cat sees the bird\nthe dog hears\n")
    page.click("button:text('Classify')")
    page.wait_for_selector(".try-result table")
    wanted = studio.post(
        "/models/classifier:predict", {"inputs": ["a cat sees the bird", "the dog hears"]}
    )["outputs"]
    cells = page.locator(".try-result tbody tr td:nth-child(2)").all_inner_texts()
    assert cells == [one["output"] for one in wanted]
    with page.expect_download() as csv:
        page.click("text=Download as CSV")
    assert csv.value.path().read_text().splitlines()[0] == "text,label,probability"
    page.fill("#try-text", "the dog hears")
    page.click("button:text('Classify')")
    page.wait_for_selector(".shares .share-row")
    label, chance = page.inner_text(".share-row >> nth=0").split("\n")[:2]
    assert float(chance.split()[0]) == round(100 * wanted[1]["probabilities"][label], 1)
    assert page.locator(".try-history li").count() == 2
    shoot(page, "try-classify")


def test_a_forecast_of_a_pasted_series(studio, page):
    try_it(page, studio, "sales")
    page.fill("#try-text", SERIES)
    page.fill("#try-horizon", "5")
    page.click("button:text('Forecast')")
    page.wait_for_selector(".try-result .line-band")
    body = {"inputs": [SERIES], "parameters": {"horizon": 5}}
    wanted = studio.post("/models/sales:predict", body)["outputs"][0]
    assert page.inner_text(".try-result .sentence") == wanted["caption"]
    with page.expect_download() as csv:
        page.click("text=Download as CSV")
    assert len(csv.value.path().read_text().splitlines()) == 6
    shoot(page, "try-forecast")
    check_width(page)


def test_what_cannot_be_answered_is_told(studio, page, watch):
    watch.allow("422")
    try_it(page, studio, "sales")
    page.fill("#try-text", "no,numbers\nat,all\n")
    page.click("button:text('Forecast')")
    page.wait_for_selector(".problem-box")
    assert "Problem" in page.inner_text(".problem-box")
    assert page.input_value("#try-text").startswith("no,numbers")


def test_a_piece_of_music_is_composed(studio, page):
    """Without a prompt, then with another seed; the piano roll has the generated notes."""
    try_it(page, studio, "tunes")
    page.fill("#try-steps", "16")
    page.click("button:text('Compose')")
    page.wait_for_selector(".try-result .piano-svg")
    body = {"inputs": [""], "parameters": {"steps": 16, "temperature": 1, "seed": 1}}
    wanted = studio.post("/models/tunes:predict", body)["outputs"][0]
    assert page.inner_text(".try-result .sentence") == wanted["view"]["caption"]
    assert len(wanted["frames"]) == 16 and any(wanted["frames"])
    with page.expect_download() as file:
        page.click("text=Download as JSON")
    assert json.loads(file.value.path().read_text())["frames"] == wanted["frames"]
    shoot(page, "try-music")
    page.fill("#try-seed", "2")
    page.click("button:text('Compose')")
    other = studio.post("/models/tunes:predict", {**body, "parameters": {"steps": 16, "seed": 2}})
    caption = other["outputs"][0]["view"]["caption"]
    page.wait_for_function(
        "words => document.querySelector('.try-result .sentence').innerText === words", arg=caption
    )
    assert other["outputs"][0]["frames"] != wanted["frames"]
    check_width(page)
