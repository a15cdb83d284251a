"""The page Compare: settings, metrics, curves, one input for all, metrics by group."""

from .browsing import check_width, ready, shoot


def test_one_run_is_nothing_to_compare(studio, page):
    studio.need("writer", "writer-3-gram")
    page.goto(f"{studio.address}/compare?runs=writer")
    ready(page)
    assert "Pick two runs to compare. Pick one more." in page.inner_text(".compare-empty")
    shoot(page, "18-compare-empty")
    page.select_option("[aria-label='Add a run']", "writer-3-gram")
    page.wait_for_url("**/compare?runs=writer%2Cwriter-3-gram")


def test_two_runs_and_the_same_input(studio, page):
    studio.need("writer", "writer-3-gram")
    page.goto(f"{studio.address}/compare?runs=writer-3-gram,writer&text=the+dog+hears")
    page.wait_for_selector(".compare-table")
    body = {"runs": ["writer-3-gram", "writer"], "limit": 200}
    wanted = studio.post("/compare", body)
    assert page.inner_text(".verdict") == wanted["verdict"]
    shared = {name: values for name, values in wanted["differences"].items() if None not in values}
    shown = page.locator(".differs > .table-box tbody th").all_inner_texts()
    assert shown == list(shared)
    page.locator(".differs [data-control=all]").check()
    page.wait_for_function(
        "n => document.querySelectorAll('.differs tr.muted').length === n",
        arg=len(wanted["equal"]),
    )
    assert "all=yes" in page.url
    page.locator(".differs [data-control=all]").uncheck()
    metric = wanted["metric"]
    values = [run["metrics"][metric]["value"] for run in wanted["runs"]]
    row = page.locator(".compare-table tbody tr").first
    assert row.locator("th").inner_text() == wanted["metrics"][metric]["title"]
    stars = row.locator("td").evaluate_all("all => all.map(one => one.textContent.includes('★'))")
    best = min(values) if wanted["metrics"][metric]["lower_is_better"] else max(values)
    assert stars == [value == best and values[0] != values[1] for value in values]
    assert "false" not in page.inner_text("[aria-label=Metrics]")
    costs = page.inner_text(".compare-table .cost")
    assert f"{wanted['runs'][1]['learned']:,}" in costs
    for kind, look in wanted["where"].items():
        assert page.inner_text(f"#where-{kind} figcaption") == look["sentence"]
    page.wait_for_function("() => document.querySelectorAll('#curves circle').length > 1")
    assert "writer ends at" in page.inner_text("#curves figcaption")
    page.wait_for_selector(".column.difference")
    assert page.locator(".column").count() == 3
    answers = studio.post("/compare:inputs", {"runs": body["runs"], "text": "the dog hears"})
    for one in answers["runs"]:
        column = page.locator(f".column[data-run='{one['run']}']")
        assert one["surprise"]["caption"] in column.inner_text()
    first, second = (
        sum(bits for bits in one["surprise"]["bits"] if bits is not None) for one in answers["runs"]
    )
    verb = "less" if first <= second else "more"
    assert f"bits {verb} in total than writer." in page.inner_text(".difference")
    shoot(page, "17-compare")
    page.click("#curves >> text=steps")
    assert "x=step" in page.url
    check_width(page)


def test_runs_of_different_tasks_have_nothing_in_common(studio, page, watch):
    watch.allow("422", "400", "409")
    studio.need("writer-3-gram", "tagger-hmm")
    page.goto(f"{studio.address}/compare?runs=writer-3-gram,tagger-hmm")
    page.wait_for_selector(".problem-box")
    assert "different tasks" in page.inner_text(".problem-box >> nth=0")
    page.wait_for_function("() => document.querySelectorAll('#curves-1 circle').length > 0")
    for figure, run in (("curves", "writer-3-gram"), ("curves-1", "tagger-hmm")):
        told = studio.get(f"/runs/{run}")
        said = page.inner_text(f"#{figure} figcaption")
        assert said.startswith(f"{told['metric_title']}: {run} ends at ") and ";" not in said
