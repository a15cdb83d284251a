"""Helpers for the page Look inside: open it, wait for a card, read its caption and table."""

from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page

from .browsing import Server, ready


def look(page: Page, studio: Server, run: str, text: str, **query: Any) -> None:
    """Open a run in Look inside."""
    studio.need(run)
    page.goto(f"{studio.address}/inside/{run}?{urlencode({'text': text, **query})}")
    ready(page)


def card(page: Page, kind: str, state: str = "ready") -> Locator:
    """A card, once it is rendered and has no pending request."""
    found = page.locator(f"#card-{kind}")
    found.scroll_into_view_if_needed()
    page.wait_for_selector(f"#card-{kind}[data-state={state}]:not([aria-busy])")
    return found


def told(studio: Server, run: str, view: str, text: str, **options: Any) -> dict[str, Any]:
    """The same view from the web API."""
    return studio.post(f"/models/{run}/views/{view}", {"text": text, **options})


def sentence(found: Locator) -> str:
    """The caption of a figure."""
    return found.locator("figcaption").inner_text()


def table(found: Locator) -> list[list[str]]:
    """The cells of the table behind the button."""
    found.locator("[data-panel=Table]").click()
    found.locator("table.numbers").wait_for()
    rows = found.locator("table.numbers tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    found.locator("[data-panel=Table]").click()
    return rows


def walk(page: Page, *keys: str) -> str:
    """Press keys one after another; the last announcement for screen readers."""
    for key in keys:
        page.keyboard.press(key)
    return page.inner_text("#announcer")


def slide(page: Page, key: str, step: int) -> None:
    """Move the time-lapse slider to the first snapshot, or to the last one before "final model"."""
    page.locator("[data-control=step]").focus()
    walk(page, key, *(["ArrowLeft"] if key == "End" else []))
    page.wait_for_function(f"() => location.search.includes('step={step}')")


def show(token: str) -> str:
    """A token as the page shows it."""
    return {" ": "·", "\n": "↵", "": "∅"}.get(token, token)
