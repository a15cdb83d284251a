"""Every code has one page, every page a use, and the document is what the pages say."""

import importlib.util
import re
from pathlib import Path

import pytest

import seqloom
from seqloom.errors import SUBJECTS, pages, subject

SOURCE = Path(seqloom.__file__).parent
ROOT = Path(__file__).parents[1]


def used() -> set[str]:
    text = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    return set(re.findall(r'"([UDMTES]\d{3})"', text))


def test_every_code_has_a_page_and_every_page_a_use():
    assert used() - set(pages()) == set(), "write a page in src/seqloom/error_codes"
    assert set(pages()) - used() == set(), "no code raises these any more"


@pytest.mark.parametrize("page", pages().values(), ids=lambda page: page.code)
def test_a_page_has_a_title_and_whole_sentences(page):
    assert page.title and not page.title.endswith(".")
    for text in (page.what, page.fix, page.why):
        assert text.endswith((".", "?")) and text == text.strip() and text[0].isupper()


def test_pages_stand_in_the_order_of_their_subjects():
    letters = [code[0] for code in pages()]
    assert letters == sorted(letters, key=list(SUBJECTS).index)
    assert subject("D011").startswith("Data")


def test_the_document_is_up_to_date():
    path = ROOT / "scripts" / "error_pages.py"
    spec = importlib.util.spec_from_file_location("error_pages", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.TARGET.read_text(encoding="utf-8") == script.text(), f"run {path.name}"
