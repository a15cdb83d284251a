"""Interventions: muted attention heads, clamped cells, replaced tokens."""

import pytest

from .browsing import check_width, shoot
from .looking import card, look, sentence, told

TEXT = "the dog sees a cat"
BANNER = ".edited-banner"


def test_a_head_is_muted_and_the_difference_is_shown(studio, page):
    """Banner, sentence and colours against the numbers; the address has the edit, Reset has not."""
    look(page, studio, "writer-transformer", TEXT, **{"attention.layer": 1, "attention.head": 0})
    card(page, "attention")
    assert page.locator(BANNER).is_hidden()
    page.click('[data-control="edit.mute"]')
    page.wait_for_selector(f"{BANNER}:visible")
    edit = "mute layer=1 head=0"
    numbers = told(studio, "writer-transformer", "surprise", TEXT, edit=edit)
    found = card(page, "surprise")
    assert sentence(found) == numbers["caption"]
    assert numbers["caption"].startswith("Edited run: head 0 of layer 2 is mute. ")
    page.wait_for_function(
        f"() => document.querySelector('{BANNER}').innerText.includes('head 0 of layer 2 is mute')"
    )
    gained = [
        None if after is None else after - before
        for after, before in zip(numbers["bits"], numbers["before"]["bits"], strict=True)
    ]
    place = max(range(1, len(gained)), key=lambda one: abs(gained[one]))
    symbol = found.locator(f'[data-position="{place}"]')
    assert symbol.get_attribute("title").endswith(f"{gained[place]:+.2f} bits")
    shown = found.locator("[data-position]").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert shown[place] != shown[0] and len(set(shown)) > 2
    attention = told(studio, "writer-transformer", "attention", TEXT, layer=1, head=0, edit=edit)
    assert not any(weight for row in attention["weights"] for weight in row)
    cells = card(page, "attention").locator("[role=gridcell]")
    drawn = cells.evaluate_all("all => all.map(one => Number(one.dataset.value))")
    before = [weight for row in attention["before"]["weights"] for weight in row]
    assert drawn == pytest.approx([-weight for weight in before])
    shoot(page, "45-edited-run")
    check_width(page)
    address = page.url
    assert "edit=mute" in address
    page.click("[data-control='edited run.edited']")
    page.wait_for_function("() => location.search.includes('shows=edited')")
    assert not any(cells.evaluate_all("all => all.map(one => Number(one.dataset.value))"))
    page.click('[data-control="edit.reset"]')
    page.wait_for_selector(BANNER, state="hidden")
    plain = told(studio, "writer-transformer", "surprise", TEXT)
    assert sentence(card(page, "surprise")) == plain["caption"]
    assert "edit=" not in page.url
    page.goto(address)  # a copied link is the edited run
    assert sentence(card(page, "surprise")) == numbers["caption"]


def test_a_cell_is_held_in_the_dark(studio, page):
    page.emulate_media(color_scheme="dark")
    look(page, studio, "quoter", 'bcd "aei" gf', **{"cell.layer": 0, "cell.cell": 3})
    card(page, "cell")
    page.fill('[data-control="edit.value"]', "0.9")
    page.click('[data-control="edit.clamp"]')
    page.wait_for_selector(f"{BANNER}:visible")
    edit = "clamp layer=0 cell=3 value=0.9"
    numbers = told(studio, "quoter", "next", 'bcd "aei" gf', edit=edit)
    found = card(page, "next")
    assert sentence(found) == numbers["caption"]
    assert "cell 3 of layer 1 is held at 0.9" in sentence(found)
    before = {one["symbol"]: one["p"] for one in numbers["before"]["choices"]}
    first = numbers["choices"][0]
    row = found.locator(".share-row").first
    assert float(row.get_attribute("data-value")) == pytest.approx(before[first["symbol"]])
    held = told(studio, "quoter", "cell", 'bcd "aei" gf', layer=0, cell=3, edit=edit)
    assert held["values"] == [0.9] * len(held["values"])
    assert sentence(card(page, "cell")) == held["caption"]
    shoot(page, "45-cell-held-dark")
    assert "without the intervention" in card(page, "gradient_flow").inner_text()
    check_width(page)


def test_a_word_is_replaced_and_the_token_strip_shows_it(studio, page):
    look(page, studio, "tagger", TEXT, at=1)
    card(page, "tags")
    page.fill('[data-control="edit.replace"]', "sees")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{BANNER}:visible")
    numbers = told(studio, "tagger", "tags", TEXT, edit='replace at=1 by="sees"')
    assert numbers["tokens"]["src"][1] == "sees" and numbers["before"]["tokens"]["src"][1] == "dog"
    assert sentence(card(page, "tags")) == numbers["caption"]
    page.wait_for_function(
        "() => document.querySelectorAll('.strip-line .token')[1].innerText === 'sees'"
    )
    other = [
        (old["label"], new["label"])
        for old, new in zip(numbers["before"]["tags"], numbers["tags"], strict=True)
        if old["label"] != new["label"]
    ]
    assert page.locator("#card-tags .tag-before").all_inner_texts() == [old for old, _ in other]
    assert page.input_value("#inside-text") == TEXT
    shoot(page, "45-word-replaced")
    check_width(page)


def test_a_number_of_a_series_is_replaced(studio, page):
    rows = [f"20{10 + n // 12}-{n % 12 + 1:02},{40 + n % 7}\n" for n in range(36)]
    series = "month,sold\n" + "".join(rows)
    look(page, studio, "sales-lstm", series, at=23, edit="replace at=23 by=90")
    numbers = studio.post(
        "/models/sales-lstm/views/forecast", {"series": series, "edit": "replace at=23 by=90"}
    )
    assert numbers["series"][0]["past"][-1] == 90 != numbers["before"]["series"][0]["past"][-1]
    found = card(page, "forecast")
    assert sentence(found) == numbers["caption"]
    assert f"2012-12 is 90 instead of {40 + 35 % 7}" in sentence(found)
    assert "before" in found.inner_text()
    shoot(page, "45-number-replaced")
