"""The Train page: model cards, options with help, time estimates, the equivalent command."""

import re
import shlex

from .browsing import check_width, shoot


def open_form(studio, page, task="language", file="text.txt", **query):
    text = studio.workshop.data(file).read_text()
    data = studio.post("/datasets", {"text": text, "name": file})["id"]
    more = "".join(f"&{name}={value}" for name, value in query.items())
    page.goto(f"{studio.address}/train?data={data}&task={task}{more}")
    page.wait_for_selector("#start:not([disabled])")
    return data


def ticked(page):
    return page.locator(".model-card input:checked").evaluate_all("all => all.map(x => x.value)")


def test_models_are_cards_and_the_command_names_those_that_are_ticked(studio, page):
    data = open_form(studio, page)
    offered = [model["name"] for model in studio.get("/tasks/language/models")["models"]]
    cards = page.locator(".model-card").evaluate_all("all => all.map(x => x.dataset.model)")
    assert cards == offered
    assert ticked(page) == ["ngram", "recurrent"]
    page.check(".model-card[data-model=transformer] input")
    page.wait_for_function(
        "() => document.querySelector('.command pre').textContent.includes('transformer')"
    )
    command = page.inner_text(".command pre")
    assert re.findall(r"-m (\S+)", command) == ["ngram", "recurrent", "transformer"]
    assert shlex.split(command)[:3] == ["seqloom", "train", "language"] and data in command
    assert "models=ngram%2Crecurrent%2Ctransformer" in page.url
    shoot(page, "08-train-models")
    check_width(page)
    page.reload()
    page.wait_for_selector("#start:not([disabled])")
    assert ticked(page) == ["ngram", "recurrent", "transformer"]


def test_cards_say_how_long_they_take_here_those_that_are_ticked_first(studio, page):
    data = open_form(studio, page, models="ngram,feedforward", **{"training.max_time": "5s"})
    time = "[data-model={}] [data-time]"
    assert {page.inner_text(time.format(name)) for name in ("recurrent", "hmm")} == {"…"}
    for name in ("ngram", "feedforward"):
        page.wait_for_selector(f"{time.format(name)}:not([data-time=''])", timeout=150_000)
        asked = {"task": "language", "data": data, "model": name}
        asked["settings"] = {"training.max_time": "5s"}
        told = studio.post("/recipes:estimate", asked)
        assert page.inner_text(time.format(name)) == told["words"] != "not known"
        assert float(page.get_attribute(time.format(name), "data-time")) == told["seconds"]
    assert page.inner_text(time.format("transformer")) == "…", "it comes after those"
    shoot(page, "08-train-times")
    check_width(page)


def test_a_wrong_setting_is_told_at_its_field_in_the_words_of_the_command_line(studio, page, watch):
    watch.allow("422")
    open_form(studio, page, models="recurrent")
    page.fill("#set-training-learning_rate", "fast")
    page.wait_for_selector("#set-training-learning_rate[aria-invalid=true]")
    assert (
        page.inner_text("#set-training-learning_rate-wrong")
        == "learning_rate = 'fast': expected a number"
    )
    assert page.is_disabled("#start")
    shoot(page, "09-train-invalid")
    check_width(page)
    page.fill("#set-training-learning_rate", "0.01")
    page.wait_for_selector("#start:not([disabled])")
    assert "--set training.learning_rate=0.01" in page.inner_text(".command pre")
    assert "training.learning_rate=0.01" in page.url


def test_the_whole_recipe_is_edited_as_toml_and_checked_while_one_types(studio, page, watch):
    watch.allow("422")
    open_form(studio, page, models="recurrent")
    page.click("text=All settings")
    page.wait_for_function("() => document.querySelector('#toml').value.includes('[training]')")
    toml = page.input_value("#toml")
    page.fill("#toml", toml.replace("hidden_size = 128", "hidden_size = 'wide'"))
    page.wait_for_selector("#toml[aria-invalid=true]")
    assert "[model] hidden_size = 'wide': expected a whole number" in page.inner_text(
        "#toml-message"
    )
    page.fill("#toml", toml.replace("hidden_size = 128", "hidden_size = 32"))
    page.wait_for_function(
        "() => document.querySelector('.command pre').textContent.includes('model.hidden_size=32')"
    )
    assert "model.hidden_size=32" in page.url
    shoot(page, "09-train-toml")
    check_width(page)


def test_every_option_is_a_field_with_its_help(studio, page):
    open_form(studio, page, models="ngram")
    page.click("text=more setting")
    found = studio.get("/tasks/language/models")
    order = next(m for m in found["models"] if m["name"] == "ngram")["options"]
    for option in order:
        box = page.inner_text(f"[data-field='model.{option['name']}']")
        assert option["help"].split(".")[0] in box
    assert page.locator("[data-field^='training.']").count() == len(found["training"])


def test_training_starts_and_is_seen_live_then_stopped_and_kept(studio, page):
    open_form(
        studio,
        page,
        "translate",
        "pairs.tsv",
        models="encoder-decoder",
        **{
            "model.embedding_size": 16,
            "model.hidden_size": 24,
            "training.max_time": "120s",
            "training.epochs": 100000,
            "training.batch_size": 8,
            "training.evaluate_steps": 4,
            "training.patience": 0,
        },
    )
    page.click("#start")
    page.wait_for_selector(".run-head [data-state=running]", timeout=150_000)
    page.wait_for_function(
        "() => +document.querySelector('[role=progressbar]').getAttribute('aria-valuenow') >= 1 &&"
        " +document.querySelector('#curve-loss').dataset.points >= 10",
        timeout=100_000,
    )
    assert re.search(
        r"\d+ % · step [\d,]+ .* tokens/s · .+ left", page.inner_text("[data-part=progress]")
    )
    assert "1 training running" in page.inner_text("#status")
    shoot(page, "10-run-live")
    check_width(page)
    page.emulate_media(color_scheme="dark")
    shoot(page, "48-run-live-dark")
    page.emulate_media(color_scheme="light")
    page.click("[data-act=keep]")
    page.wait_for_selector("[data-ending=stopped]", timeout=150_000)
    assert page.locator("[data-act=continue]").count() == 1
