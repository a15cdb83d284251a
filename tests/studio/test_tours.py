"""Guided tours: each step points at an element of the page, and ends when it is done."""

from .browsing import NARROW, check_width, ready, shoot

# A page that is drawn anew has nothing pointed at until the next frame.
ONE_IS_POINTED_AT = "() => document.querySelectorAll('.tour-here').length === 1"


def begin(studio, page, name, path="/serve"):
    """Begin a tour from the help, by keyboard."""
    page.goto(studio.address + path)
    ready(page)
    page.keyboard.press("?")
    page.focus(f"[data-tour={name}]")
    shoot(page, "help")
    page.keyboard.press("Enter")
    page.wait_for_selector(".tour")


def at_step(page, number, words):
    """The step of the tour, with what it points at in sight."""
    page.wait_for_selector(f".tour >> text=step {number} of")
    assert words in page.inner_text(".tour")
    page.wait_for_function(ONE_IS_POINTED_AT)
    return page.locator(".tour-here")


def test_train_your_first_model(studio, page):
    run = studio.need("reverse")
    begin(studio, page, "train")
    at_step(page, 1, "Choose an example")
    assert page.evaluate("() => location.pathname") == "/"
    check_width(page)
    page.click("[data-example=copy] >> text=Settings")
    page.wait_for_url("**/train?**")
    here = at_step(page, 3, "press Start training")
    assert here.get_attribute("id") == "start", "what was found in the file is on no page here"
    shoot(page, "tour-train")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(NARROW)
    shoot(page, "tour-train-narrow-dark")
    page.wait_for_selector("#start:not([disabled])")
    page.click(".tour >> text=Show me")
    assert page.evaluate("() => document.activeElement.id") == "start"
    page.goto(f"{studio.address}/run/{run}")  # another page is loaded, and the tour goes on
    here = at_step(page, 5, "This is the result")
    assert here.locator("[data-ending=finished]").count() or here.get_attribute("data-ending")
    page.click("[data-ending] >> text=Look inside")
    page.wait_for_selector(".tour >> text=Tour completed: Train your first model.")
    assert page.inner_text("#announcer").startswith("Tour completed")
    page.click(".tour >> text=Close")
    page.reload()
    ready(page)
    assert page.locator(".tour, .tour-here").count() == 0, "once done, it does not come back"


def test_look_inside(studio, page):
    run = studio.need("writer-3-gram")
    begin(studio, page, "inside")
    at_step(page, 1, "Choose a model")
    page.click(f".choose-model >> text={run}")
    here = at_step(page, 2, "All figures share one cursor")
    assert here.get_attribute("role") == "listbox"
    page.click(".tour >> text=Show me")
    page.keyboard.press("ArrowRight")
    here = at_step(page, 3, "Press Table")
    here.click()
    page.wait_for_selector(".tour >> text=Tour completed: Look inside a model.")
    check_width(page)


def test_compare_two_runs_and_a_tour_that_is_ended(studio, page):
    runs = studio.need("writer-3-gram"), studio.need("writer")
    begin(studio, page, "compare")
    at_step(page, 1, "Add two runs of the same task")
    for run in runs:
        page.select_option("[aria-label='Add a run']", run)
        page.wait_for_selector(f".chosen-run >> text={run}")
    at_step(page, 2, "give both the same input")
    page.goto(f"{studio.address}/models")
    page.wait_for_selector(".tour >> text=This step is on another page")
    assert page.locator(".tour-here").count() == 0
    page.go_back()
    at_step(page, 2, "give both the same input")
    page.click(".tour >> text=Skip")
    at_step(page, 3, "Press the name of a run")
    shoot(page, "tour-compare")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="hidden")
    assert page.locator(".tour").count() == 1, "the first Esc was the dialog's"
    page.keyboard.press("Escape")
    page.wait_for_selector(".tour", state="detached")
    assert page.locator(".tour-here").count() == 0
    page.reload()
    ready(page)
    assert page.locator(".tour").count() == 0
