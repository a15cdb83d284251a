"""The page of a model: model card, rename, export, and delete with undo."""

import shutil
import zipfile

from .browsing import check_width, ready, shoot


def own(studio, name):
    """A run of this test's own, in the folder that all tests share."""
    shutil.copytree(studio.workshop.run("writer-3-gram"), studio.runs / name)
    card = studio.runs / name / "card.md"
    card.write_text(card.read_text().replace("# writer-3-gram", f"# {name}", 1))
    return name


def listed(studio):
    return {model["id"] for model in studio.get("/models")["models"]}


def open_model(studio, page, name):
    page.goto(f"{studio.address}/models/{name}")
    ready(page)


def test_a_model_is_renamed_where_it_is_and_told_why_not(studio, page, watch):
    watch.allow("409")
    studio.need("tagger-hmm")
    open_model(studio, page, own(studio, "old-writer"))
    page.click("#rename")
    assert page.input_value("#prompt") == "old-writer"
    for name, told in (
        ("tagger-hmm", "there is a run called 'tagger-hmm' already"),
        ("My Writer", "'My Writer' cannot name a run: use a-z, 0-9 and -, at most 64 of them"),
    ):
        page.fill("#prompt", name)
        page.keyboard.press("Enter")
        page.wait_for_selector(f"dialog .problem-box >> text={told}")
    shoot(page, "47-rename-refused")
    check_width(page)
    page.fill("#prompt", "my-writer")
    page.click("dialog button.primary")
    page.wait_for_url("**/models/my-writer")
    page.wait_for_selector("h1:has-text('my-writer')")
    assert page.locator("dialog[open]").count() == 0
    assert {"my-writer", "tagger-hmm"} <= listed(studio) and "old-writer" not in listed(studio)
    assert not (studio.runs / "old-writer").exists()
    shoot(page, "47-model-card")
    check_width(page)


def test_a_model_is_downloaded_as_one_file(studio, page):
    name = studio.need("writer-3-gram")
    open_model(studio, page, name)
    with page.expect_download() as coming:
        page.click("text=Export")
    assert coming.value.suggested_filename == f"{name}.zip"
    with zipfile.ZipFile(coming.value.path()) as archive:
        weights = archive.read(f"{name}/weights.safetensors")
    assert weights == (studio.runs / name / "weights.safetensors").read_bytes()


def test_deleting_asks_names_what_goes_and_can_be_undone(studio, page):
    name = own(studio, "unloved")
    folder = studio.runs / name
    page.clock.install()
    open_model(studio, page, name)

    def delete():
        page.click("text=Delete")
        assert "the weights, the curves and the card" in page.inner_text("dialog")
        page.click("dialog button.danger")
        page.wait_for_selector(f".notice >> text={name} will be deleted in 10 s.")

    page.click("text=Delete")
    page.click("dialog >> text=Cancel")
    assert page.locator(".notice").count() == 0
    delete()
    shoot(page, "47-delete-undo")
    page.clock.fast_forward(9_000)
    page.click("text=Undo")
    assert page.inner_text("#announcer") == "Undone."
    page.clock.fast_forward(60_000)
    assert page.locator(".notice").count() == 0
    assert folder.exists() and studio.get(f"/models/{name}/card")["markdown"], "it was undone"
    delete()
    page.clock.fast_forward(10_000)
    page.wait_for_url("**/models")
    ready(page)
    assert not folder.exists() and name not in listed(studio)
