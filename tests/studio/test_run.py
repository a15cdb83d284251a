"""The page of a run: live, ended in every way, and its words checked against its events."""

import json

from .browsing import check_width, ready, shoot


def events_of(folder):
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def test_a_finished_run_names_its_best_step_and_the_way_on(studio, page):
    run = studio.need("reverse")
    page.goto(f"{studio.address}/run/{run}")
    ready(page)
    page.wait_for_selector("[data-ending=finished]")
    best = [event for event in events_of(studio.runs / run) if event.get("best")][-1]
    assert f"Best at step {best['step']}" in page.inner_text("[data-ending=finished]")
    assert page.inner_text("[data-state=finished]") == "Finished"
    page.wait_for_function("() => document.querySelector('#curve-loss')?.dataset.points > 5")
    shoot(page, "12-run-finished")
    check_width(page)
