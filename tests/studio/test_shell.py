"""The shell of all pages: theme, keyboard, narrow screens, token, model picker, help."""

import re

from .browsing import NARROW, check_width, ready, shoot

INK = """() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const shine = ([r, g, b]) => {
    const part = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const found = numbers(getComputedStyle(node).backgroundColor);
      if (found.length === 3 || found[3] > 0.9) return found;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node.closest("svg, .visually-hidden, .skip, :disabled, [aria-disabled]")) continue;
    const [ink, page] = [shine(numbers(getComputedStyle(node).color)), shine(ground(node))];
    const ratio = (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${node.outerHTML.slice(0, 90)}`);
  }
  return poor;
}"""
NAMELESS = """() => [...document.querySelectorAll("button, a[href], input, select, textarea")]
  .filter((node) => node.checkVisibility() && !node.closest(".visually-hidden") && !node.hasAttribute("aria-hidden"))
  .filter((node) => !(node.innerText?.trim() || node.getAttribute("aria-label") || node.labels?.length || node.title))
  .map((node) => node.outerHTML.slice(0, 120))"""


def pages(studio):
    run = studio.need("reverse")
    data = studio.post("/datasets", {"text": "a\tb\nc\td\n" * 20, "name": "pairs.tsv"})["id"]
    return [
        "/",
        f"/data/{data}",
        f"/train?data={data}&task=translate",
        f"/run/{run}",
        "/models",
        f"/models/{run}",
        "/serve",
        "/api",
        "/help/T130",
    ]


def test_text_is_readable_and_controls_have_names_in_light_and_dark(studio, page, watch):
    for path in pages(studio):
        page.goto(studio.address + path)
        ready(page)
        watch.settle()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(INK) == [], f"{path}, {scheme}"
        assert page.evaluate(NAMELESS) == [], path
        assert page.locator("h1").count() >= 1 and page.title().endswith("Seqloom")


def test_the_theme_is_chosen_and_kept(studio, page):
    page.goto(f"{studio.address}/models")
    ready(page)
    ground = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.keyboard.press("d")
    assert page.evaluate(ground) == "rgb(17, 20, 24)"
    page.reload()
    ready(page)
    assert page.evaluate(ground) == "rgb(17, 20, 24)"
    shoot(page, "48-models-dark")
    page.click("[aria-label='Theme: dark']")
    assert page.locator("[aria-label='Theme: auto']").count() == 1


def test_shortcuts_go_to_pages_but_not_while_one_writes(studio, page):
    page.goto(f"{studio.address}/serve")
    ready(page)
    page.keyboard.press("1")
    page.wait_for_url(f"{studio.address}/")
    page.click("text=Paste text")
    page.keyboard.type("5?d")
    assert page.input_value("#paste") == "5?d"
    assert page.url == f"{studio.address}/"
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("?")
    assert "Shortcuts" in page.inner_text("dialog") and "Perplexity" in page.inner_text("dialog")
    assert "Go to Compare" in page.inner_text("dialog")
    shoot(page, "50-help")
    page.uncheck("dialog input[type=checkbox]")
    page.keyboard.press("Escape")
    page.keyboard.press("5")
    page.wait_for_timeout(150)
    assert page.url == f"{studio.address}/"


def test_the_picker_leads_to_a_model(studio, page):
    studio.need("reverse")
    page.goto(f"{studio.address}/")
    ready(page)
    page.click(".picker-button")
    page.wait_for_selector(".picker a")
    chosen = ".picker a[href='/models/reverse']"  # others may begin with the same name
    assert "translate" in page.inner_text(chosen)
    shoot(page, "00-picker")
    page.click(chosen)
    page.wait_for_url("**/models/reverse")
    assert page.inner_text(".picker-button") == "reverse"
    assert page.get_attribute(".verbs a:has-text('Look inside')", "href") == "/inside/reverse"


def test_narrow_screens_still_motion_and_forced_colours(studio, page, watch):
    run = studio.need("reverse")
    page.set_viewport_size(NARROW)
    for number, path in (("01", "/"), ("10", f"/run/{run}"), ("08", pages(studio)[2])):
        page.goto(studio.address + path)
        ready(page)
        watch.settle()
        shoot(page, f"49-narrow-{number}")
        small = page.locator("main button:visible, main a.button:visible").evaluate_all(
            "all => all.filter(x => x.getBoundingClientRect().height < 24).map(x => x.outerHTML)"
        )
        assert small == [], "targets are at least 24 px high"
    check_width(page)
    still = page.evaluate(
        "() => [...document.querySelectorAll('*')].every(x => getComputedStyle(x).animationName === 'none'"
        " && parseFloat(getComputedStyle(x).transitionDuration) === 0)"
    )
    assert still, "something moves though the reader wants it still"
    page.emulate_media(forced_colors="active")
    page.goto(f"{studio.address}/run/{run}")
    page.wait_for_selector("[data-ending=finished]")
    border = page.evaluate(
        "() => getComputedStyle(document.querySelector('.run-head .badge')).borderTopStyle"
    )
    assert border == "solid"
    shoot(page, "53-forced-colours")


def test_a_studio_with_a_token_asks_for_it(serve, page, watch):
    watch.allow("401")
    studio = serve("--token", "a-secret-word")
    page.goto(f"{studio.address}/")
    page.wait_for_selector("[data-missing=token]")
    assert page.inner_text("h1") == "Token required"
    shoot(page, "55-token")
    check_width(page)
    page.fill("#token", "a-secret-word")
    page.keyboard.press("Enter")
    page.wait_for_selector("#drop")
    ready(page)
    assert "token" not in page.url
    cookie = page.context.cookies()[0]
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"


def test_one_can_walk_from_an_example_to_the_inside_without_a_mouse(studio, page):
    page.goto(f"{studio.address}/")
    page.wait_for_selector(".example")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    walk_to(
        page,
        "document.activeElement.closest('[data-example=shakespeare]') && document.activeElement.textContent.includes('Train it')",
    )
    page.keyboard.press("Enter")
    page.wait_for_selector(".batch a", timeout=150_000)
    walk_to(page, "document.activeElement.closest('.batch')")
    page.keyboard.press("Enter")  # from the n-gram model, which is trained in no time, to the LSTM
    page.wait_for_selector(".run-head [data-state=running]", timeout=150_000)
    page.wait_for_selector(".sample", timeout=150_000)
    walk_to(page, "document.activeElement.dataset.act === 'keep'")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-ending=stopped]", timeout=150_000)
    walk_to(
        page,
        "document.activeElement.closest('[data-ending]') && document.activeElement.textContent.includes('Look inside')",
    )
    outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineWidth")
    assert float(re.match(r"[\d.]+", outline)[0]) >= 2
    page.keyboard.press("Enter")
    page.wait_for_url("**/inside/*")
    page.wait_for_selector("main h1")


def walk_to(page, arrived, most=150):
    """Press Tab until the focus is there."""
    for _ in range(most):
        if page.evaluate(f"() => Boolean({arrived})"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not come to: {arrived}")
