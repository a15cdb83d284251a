"""The start page: empty, with runs, and with files that cannot be read."""

from .browsing import check_width, ready, shoot

DROP = """([name, bytes, kind]) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(bytes)], name));
  const event = new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true });
  document.body.dispatchEvent(event);
}"""


def drop(page, name, content, kind="drop"):
    page.evaluate(DROP, [name, list(content), kind])


def test_an_empty_start_offers_a_file_and_examples_for_every_task(serve, page, watch):
    watch.allow("404")  # of runs that are only said to begin
    studio = serve()
    page.goto(f"{studio.address}/")
    page.wait_for_selector(".example")
    ready(page)
    assert page.inner_text("h1") == "Train a sequence model on your own file."
    examples = studio.get("/examples")["examples"]
    shown = page.locator(".example h3").all_inner_texts()
    assert shown == [example["title"] for example in examples]
    assert len(shown) >= 7
    assert "Nothing is uploaded anywhere" in page.inner_text("main")
    assert page.locator("#runs-title").count() == 0
    assert page.inner_text("#status").startswith("Running locally")
    shoot(page, "01-start-empty")
    check_width(page)
    drop(page, "words.tsv", b"a\tb\n", "dragenter")
    assert "over" in page.get_attribute("#drop", "class")
    shoot(page, "03-drop-hover")
    page.goto(f"{studio.address}/models")
    page.wait_for_selector("text=No model yet.")
    check_first_of_a_batch(studio, page)


def check_first_of_a_batch(studio, page):
    """Train it leads to the run that begins, and asks for what Settings would."""
    asked = []

    def answer(route):
        if route.request.method != "POST":
            return route.fallback()
        asked.append(route.request.post_data_json["recipes"])
        return route.fulfill(status=201, json={"job": "j", "runs": ["first", "second"]})

    page.route("**/api/v1/runs", answer)
    for ways in (["Train it"], ["Settings", "Start training"]):
        page.goto(f"{studio.address}/")
        page.click(f"[data-example=copy] >> text={ways[0]}")
        for way in ways[1:]:
            page.click(f"button:text('{way}'):not([disabled])")
        page.wait_for_url("**/run/first")
    assert asked[0] and asked[1] == [{k: v for k, v in one.items() if v} for one in asked[0]]


def test_runs_are_listed_newest_first_with_their_curves(studio, page):
    studio.need("reverse", "writer-3-gram")
    page.goto(f"{studio.address}/")
    page.wait_for_selector("tr[data-run=reverse]")
    runs = studio.get("/runs")["runs"]
    assert page.locator("tr[data-run] a").all_inner_texts() == [run["name"] for run in runs]
    row = page.inner_text("tr[data-run=reverse]")
    best = next(run["best_shown"] for run in runs if run["id"] == "reverse")
    assert "translate" in row and "Finished" in row and best in row
    assert page.locator("tr[data-run=reverse] svg.spark path").count() == 1
    assert runs[0]["name"] in page.inner_text("[data-part=continue]")
    shoot(page, "02-start-with-runs")
    check_width(page)


def test_a_file_that_is_too_large_is_told_before_it_is_sent(studio, page, tmp_path):
    large = tmp_path / "big.txt"
    with large.open("wb") as file:
        file.truncate(201 * 1024 * 1024)  # a hole: it takes no room on the disk
    sent = []
    page.on("request", lambda request: sent.append(request.method))
    page.goto(f"{studio.address}/")
    page.wait_for_selector("#file", state="attached")
    page.set_input_files("#file", large)
    words = page.inner_text("#drop [role=alert]")
    assert "big.txt is 211 MB; the limit is 210 MB." in words
    assert "seqloom train language big.txt" in words
    assert "POST" not in sent
    shoot(page, "04-too-large")
    check_width(page)


def test_a_file_that_is_no_text_is_described_by_its_first_bytes(studio, page):
    page.goto(f"{studio.address}/")
    page.wait_for_selector("#drop")
    drop(page, "photo.png", bytes.fromhex("89504e470d0a1a0a0000000d"))
    words = page.inner_text("#drop [role=alert]")
    assert "photo.png is not text: it begins with the bytes 89 50 4E 47" in words
    assert "as a PNG picture does" in words
    assert page.locator("#drop [role=alert] li").count() == 3
    shoot(page, "04-unknown-type")


def test_a_pasted_text_becomes_data(studio, page):
    page.goto(f"{studio.address}/")
    page.click("text=Paste text")
    page.fill("#paste", "\n".join(f"the loom weaves line {i}" for i in range(30)))
    page.click("text=Use this text")
    page.wait_for_selector("#continue")
    assert page.inner_text("h1") == "pasted.txt"
    assert "30 lines" in page.inner_text("main")
