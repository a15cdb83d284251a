"""Serve, models and the API reference: the printed code works."""

import json
import subprocess

from .browsing import check_width, ready, shoot


def test_the_curl_on_the_page_really_answers(studio, page):
    model = studio.need("reverse")
    page.goto(f"{studio.address}/serve?model={model}")
    page.wait_for_selector(".snippet-box pre")
    assert page.locator("[role=tab]").all_inner_texts() == ["curl", "Python", "JavaScript"]
    curl = page.inner_text(".snippet-box pre")
    answer = json.loads(
        subprocess.run(["bash", "-c", f"{curl} -s"], capture_output=True, check=True).stdout
    )
    assert answer["model"] == model and answer["outputs"]
    page.wait_for_selector(f"#requests >> text=POST /api/v1/models/{model}:predict")
    assert "Only this computer can reach it." in page.inner_text("main")
    shoot(page, "46-serve")
    page.press("[role=tab][data-tab=curl]", "ArrowRight")
    assert "urllib.request" in page.inner_text(".snippet-box pre")
    check_width(page)


def test_a_model_card_tells_what_the_run_is(studio, page):
    model = studio.need("reverse")
    page.goto(f"{studio.address}/models")
    page.click(f"tr[data-model={model}] a")
    page.wait_for_selector(".model-page h2")
    words = page.inner_text(".model-page")
    for line in (studio.runs / model / "card.md").read_text().splitlines():
        if line.startswith("- "):
            assert line[2:].split(" = ")[0] in words
    assert page.locator(f"a[href='/inside/{model}']").count() >= 1
    shoot(page, "47-model-card")
    check_width(page)


def test_every_call_of_the_api_is_on_its_page_with_curl_and_python(studio, page):
    page.goto(f"{studio.address}/api")
    page.wait_for_selector(".call")
    described = studio.openapi()["paths"]
    calls = {
        f"{m} {p}"
        for p, kinds in described.items()
        for m in kinds
        if m in ("get", "post", "delete")
    }
    shown = page.locator(".call").evaluate_all("all => all.map(x => x.dataset.call)")
    assert set(shown) == calls and len(shown) == len(calls)
    page.click("[data-call='get /api/v1/runs'] summary")
    curl = page.inner_text("[data-call='get /api/v1/runs'] pre")
    told = json.loads(
        subprocess.run(["bash", "-c", f"{curl} -s"], capture_output=True, check=True).stdout
    )
    assert "runs" in told
    shoot(page, "46-api")
    check_width(page)


def test_what_is_not_there_is_said_and_leads_on(studio, page, watch):
    watch.allow("404")
    page.goto(f"{studio.address}/nowhere/at-all")
    ready(page)
    assert page.inner_text("h1") == "Page not found"
    shoot(page, "56-no-such-page")
    for path, noun in (
        ("/run/none", "run"),
        ("/inside/none", "model"),
        ("/try/none", "model"),
        ("/data/000000000000", "data set"),
    ):
        page.goto(studio.address + path)
        page.wait_for_selector(f"[data-missing='{noun}']")
        assert page.inner_text("h1").startswith(f"There is no {noun} named")
    check_width(page)
    page.click("text=All models")
    page.wait_for_selector("h1:has-text('Models')")
