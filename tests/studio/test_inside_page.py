"""The page Look inside: shared cursor, URL state, time-lapse, empty and failed cards."""

from .browsing import NARROW, WIDE, check_width, ready, shoot
from .looking import card, look, sentence, slide, told, walk

LINE = "the dog hears a cat"


def test_without_a_model_one_is_chosen(studio, page):
    studio.need("writer-3-gram")
    page.goto(f"{studio.address}/inside")
    ready(page)
    page.click("main >> text=writer-3-gram")
    page.wait_for_url("**/inside/writer-3-gram")


def test_the_page_opens_with_an_example_of_the_test_part(studio, page):
    studio.need("writer-3-gram")
    page.goto(f"{studio.address}/inside/writer-3-gram")
    ready(page)
    first = studio.get("/models/writer-3-gram")["examples"][0]
    wanted = told(studio, "writer-3-gram", "surprise", first)["caption"]
    assert sentence(card(page, "surprise")) == wanted
    assert page.input_value("#inside-text") == first
    assert page.locator(".inside-empty").count() == 0 and "text=" in page.url


def test_one_cursor_is_shared_and_a_copied_link_restores_everything(studio, page):
    look(page, studio, "writer", LINE)
    card(page, "surprise")
    card(page, "gates")
    page.locator(".strip-line [role=listbox]").focus()
    walk(page, "Home", "ArrowRight", "ArrowRight", "ArrowRight")
    assert "at=3" in page.url
    for kind in ("surprise", "gates"):
        chosen = page.locator(f"#card-{kind} [role=option][aria-selected=true]").first
        assert chosen.get_attribute("data-position") == "3"
    page.locator("#card-gates [role=option][data-position='7']").click()
    chosen = page.locator(".strip-line [role=option][aria-selected=true]")
    assert chosen.get_attribute("data-position") == "7"
    page.wait_for_function(
        "() => [...document.querySelectorAll('.cursor-values dt')].some(one => "
        "one.textContent === 'surprisal')"
    )
    bits = told(studio, "writer", "surprise", LINE)["bits"][7]
    assert f"{bits:.2f} bits" in page.inner_text(".cursor-values")
    page.click("#card-gates >> text=forget >> nth=0")
    link = page.url
    other = page.context.new_page()
    other.goto(link)
    ready(other)
    card(other, "gates")
    assert other.input_value("#inside-text") == LINE
    assert other.locator("#card-gates canvas").count() == 1
    chosen = other.locator(".strip-line [role=option][aria-selected=true]")
    assert chosen.get_attribute("data-position") == "7"


def test_another_text_and_the_way_back(studio, page):
    look(page, studio, "writer-3-gram", LINE, at=2)
    before = sentence(card(page, "surprise"))
    page.fill("#inside-text", "a fish likes the bird")
    page.press("#inside-text", "Enter")
    wanted = told(studio, "writer-3-gram", "surprise", "a fish likes the bird")["caption"]
    said = "text => document.querySelector('#card-surprise figcaption')?.textContent === text"
    page.wait_for_function(said, arg=wanted)
    page.go_back()
    page.wait_for_function(said, arg=before)
    assert page.input_value("#inside-text") == LINE


def test_a_card_that_fails_keeps_its_place_and_the_others_stay(studio, page, watch):
    watch.allow("503")
    fails = {"on": True}

    def answer(route):
        if not fails["on"]:
            return route.fallback()
        return route.fulfill(
            status=503,
            content_type="application/problem+json",
            body='{"status":503,"title":"Busy","problem":"the studio is busy","help":["wait"]}',
        )

    page.route("**/views/surprise", answer)
    look(page, studio, "writer-3-gram", LINE)
    failed = card(page, "surprise", "failed")
    assert "the studio is busy" in failed.inner_text()
    assert failed.bounding_box()["height"] >= 100
    card(page, "influence")
    shoot(page, "card-failed")
    fails["on"] = False
    failed.locator("text=Try again").click()
    wanted = told(studio, "writer-3-gram", "surprise", LINE)["caption"]
    assert sentence(card(page, "surprise")) == wanted


def test_right_to_left_and_emoji_in_the_token_strip(studio, page):
    text = "שלום 👩‍👩‍👧 é\tb"
    look(page, studio, "writer-3-gram", text)
    card(page, "surprise")
    shown = page.locator(".strip-line [role=option]").all_inner_texts()
    assert shown[0] == "⊢" and "ש" in shown and "⇥" in shown and "·" in shown
    assert page.locator("#card-surprise [role=listbox]").get_attribute("dir") == "auto"
    widths = page.locator(".strip-line [role=option]").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().width)"
    )
    assert len(set(widths)) == 1
    shoot(page, "54-rtl-emoji")
    check_width(page)


def test_dark_and_narrow(studio, page):
    page.emulate_media(color_scheme="dark")
    look(page, studio, "writer", LINE, at=3)
    found = card(page, "surprise")
    card(page, "gates")
    colours = page.evaluate(
        "() => [getComputedStyle(document.body).backgroundColor, getComputedStyle("
        "document.querySelector('#card-surprise figcaption')).color]"
    )
    assert colours == ["rgb(17, 20, 24)", "rgb(230, 237, 243)"]
    dark = found.locator("[role=option]").nth(3).evaluate("one => one.style.background")
    shoot(page, "48-inside-dark")
    page.keyboard.press("d")
    page.wait_for_function(
        "old => document.querySelectorAll('#card-surprise [role=option]')[3].style.background !== old",
        arg=dark,
    )
    page.set_viewport_size(NARROW)
    shoot(page, "49-inside-360")
    page.set_viewport_size(WIDE)
    check_width(page)


def test_the_key_t_opens_the_table_of_the_figure_with_the_focus(studio, page):
    look(page, studio, "writer-3-gram", LINE)
    found = card(page, "surprise")
    found.locator("[role=listbox]").focus()
    page.keyboard.press("t")
    found.locator("table.numbers").wait_for()


def test_time_lapse_replays_what_training_kept(studio, page):
    run = studio.need("backwards")
    probes = studio.get(f"/models/{run}")["probes"]
    steps, text = probes["steps"], probes["inputs"][0]
    text = text if isinstance(text, str) else text["text"]
    look(page, studio, run, "a a b b")
    card(page, "attention")
    first, last = (
        studio.post(f"/models/{run}/views/attention?step={step}", {"text": text})
        for step in (steps[0], steps[-1])
    )
    assert first["weights"] != last["weights"]
    seen = {}
    for key, step, wanted in (("Home", steps[0], first), ("End", steps[-1], last)):
        slide(page, key, step)
        assert sentence(card(page, "attention")) == wanted["caption"]
        cells = page.locator("#card-attention [role=gridcell]")
        seen[key] = cells.evaluate_all("all => all.map(one => Number(one.dataset.value))")
        assert seen[key] == [weight for row in wanted["weights"] for weight in row]
        shoot(page, f"44-time-lapse-{key.lower()}")
    assert seen["Home"] != seen["End"]
    assert page.input_value("#inside-text") == text
    page.locator("h1").click()
    page.keyboard.press("[")
    page.wait_for_function(f"() => location.search.includes('step={steps[-2]}')")
    # The computer asks for less motion: p goes one step on instead of playing.
    page.keyboard.press("p")
    page.wait_for_function(f"() => location.search.includes('step={steps[-1]}')")
