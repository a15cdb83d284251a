"""The data check: findings, problems that prevent training, and their fixes."""

from .browsing import check_width, ready, shoot
from .test_start import drop


def rows(count=40):
    return [f"der käse {i} ist da\t{'gut' if i % 2 else 'alt'}" for i in range(count)]


def check(studio, page, name, text, encoding="utf-8"):
    page.goto(f"{studio.address}/")
    page.wait_for_selector("#drop")
    drop(page, name, "\n".join([*text, ""]).encode(encoding))
    page.wait_for_selector("#continue")
    ready(page)


def test_a_clean_file_shows_its_task_counts_and_rows(studio, page):
    check(studio, page, "clean.tsv", rows())
    words = page.inner_text("main")
    assert "Task: classify" in words and "40 rows" in words
    assert "No problems found." in words
    assert page.locator(".bars").first.inner_text().split() == ["alt", "20", "gut", "20"]
    assert page.get_attribute("#continue", "href").startswith("/train?data=")
    shoot(page, "05-data-clean")
    check_width(page)
    page.select_option("#task", "translate")
    page.wait_for_selector("text=Task: translate")
    assert "task=translate" in page.url
    page.go_back()
    page.wait_for_selector("text=Task: classify")


def test_rows_are_shown_as_the_model_will_see_them(studio, page):
    check(studio, page, "clean.tsv", rows())
    page.wait_for_selector(".sample-rows tbody tr")
    first = page.locator(".sample-rows tbody tr").first
    assert first.locator(".chip").all_inner_texts()[:4] == ["der", "käse", "0", "ist"]
    assert page.locator(".sample-rows tbody tr").count() == 20
    assert "Lengths: text" in page.locator(".card h3").all_inner_texts()


def test_a_problem_closes_the_way_to_training_until_it_is_solved(studio, page):
    broken = rows()
    broken[6], broken[20] = "no label here", "nor here"
    check(studio, page, "ragged.tsv", broken)
    assert page.get_attribute("#continue", "aria-disabled") == "true"
    assert page.inner_text("#reason") == "Not possible yet: row has 1 field, expected 2"
    assert page.get_attribute("#continue", "aria-describedby") == "reason"
    finding = page.inner_text(".finding.problem")
    assert "Problem" in finding and "D011" in finding and "Lines: 7, 21" in finding
    shoot(page, "06-data-problem")
    check_width(page)
    page.click("#continue", force=True)
    assert "/data/" in page.url
    page.click("text=Skip these 2 lines")
    page.wait_for_selector("a#continue")
    assert "2 lines left out" in page.inner_text(".finding.warning")
    assert "data.skip_bad=true" in page.get_attribute("#continue", "href")


def test_a_file_that_is_not_utf_8_is_read_in_its_encoding(studio, page):
    check(studio, page, "alt.tsv", rows(), "cp1252")
    assert "is not UTF-8" in page.inner_text("#reason")
    shoot(page, "07-data-not-utf-8")
    page.click("text=Read as Windows-1252")
    page.wait_for_selector("a#continue")
    assert "encoding=cp1252" in page.url
    assert "Windows-1252" in page.inner_text(".facts")
    shoot(page, "07-data-encoding-mended")
    page.reload()
    page.wait_for_selector("a#continue")
    page.click("#continue")
    page.wait_for_selector("#start:not([disabled])")
    assert "data.encoding=cp1252" in page.inner_text(".command pre")
