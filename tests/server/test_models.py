"""Models through the web API: predictions, streamed text, views, and the model cache."""

import json
import math
import os
import re
import shutil

import pytest

from seqloom.model import Search
from seqloom.runs.answer import as_dict
from seqloom.runs.run import load
from seqloom.server.options import Limits

from .conftest import RUNS, client
from .test_event_stream import parsed

MODELS = "/api/v1/models"
SERIES = "month,sold\n" + "".join(
    f"20{10 + i // 12}-{i % 12 + 1:02},{40 + i % 12}\n" for i in range(36)
)


def predict(web, model: str, *inputs: str, **parameters):
    return web.post(f"{MODELS}/{model}:predict", json={"inputs": inputs, "parameters": parameters})


def test_models_are_the_runs_with_weights(web):
    found = web.get(MODELS).json()["models"]
    assert {row["id"] for row in found} == set(RUNS)
    (row,) = (row for row in found if row["id"] == "counts")
    assert row["task"] == "language" and row["form"] == "next" and row["verb"] == "generate"
    assert row["metric"] == "bits_per_character" and row["best_shown"] == f"{row['best']:.4g}"


@pytest.mark.parametrize("model", ["tagger", "judge", "attentive"])
def test_an_answer_is_what_the_command_line_prints(web, trained, model):
    answer = predict(web, model, "the cat sees", "a dog hears the bird")
    assert answer.status_code == 200
    run = load(trained / model)
    search = Search(probabilities=model != "attentive")
    asked = ["the cat sees", "a dog hears the bird"]
    for text, one, told in zip(
        asked, run.predictions(asked, search), answer.json()["outputs"], strict=True
    ):
        assert told == json.loads(json.dumps(as_dict(run.task, text, one)))
    assert answer.json()["usage"] == {"inputs": 2, "symbols": 8}
    assert answer.json()["model"] == model and answer.json()["timing_ms"] > 0


def test_the_best_few_are_given_and_begin_as_told(web):
    (found,) = predict(web, "attentive", "the cat", beam=4, nbest=3, limit=6).json()["outputs"]
    assert len(found["nbest"]) == 3
    (ruled,) = predict(web, "attentive", "the cat", prefix="dog", limit=6).json()["outputs"]
    assert ruled["output"].startswith("dog")


def test_an_answer_says_how_it_ended(web):
    (cut,) = predict(web, "attentive", "the cat", limit=2, shortest=5).json()["outputs"]
    assert cut["ended"] == "limit"
    (found,) = predict(web, "attentive", "the cat", beam=2, nbest=2).json()["outputs"]
    assert [one["ended"] for one in found["nbest"]] == ["end"] * 2 and found["ended"] == "end"
    assert "ended" not in predict(web, "judge", "the cat").json()["outputs"][0]


def test_no_answer_is_longer_than_the_server_generates(trained):
    with client(trained, limits=Limits(generated=2)) as web:
        (text,) = predict(web, "writer", "the ", shortest=5).json()["outputs"]
        assert text["symbols"] == 2 and text["ended"] == "limit"
        (answer,) = predict(web, "attentive", "the cat", shortest=5).json()["outputs"]
        assert answer["ended"] == "limit" and len(answer["output"].split()) <= 2


def test_texts_go_on_the_same_from_the_same_seed(web, trained):
    first, second = (predict(web, "writer", "the ", seed=3, limit=12).json() for _ in "ab")
    (one,) = first["outputs"]
    assert one == second["outputs"][0]
    assert one["ended"] in ("end", "limit") and one["symbols"] <= 12
    from seqloom.decoding import Sampling

    assert one["text"] == load(trained / "writer").generate("the ", Sampling(seed=3, limit=12))
    (stopped,) = predict(web, "counts", "the ", stop=["t"], limit=50).json()["outputs"]
    assert "t" not in stopped["text"]


def test_series_are_forecast_from_a_file_or_from_numbers(web):
    (found,) = predict(web, "ahead", SERIES, horizon=5).json()["outputs"]
    assert found["view"] == "forecast" and len(found["series"][0]["mean"]) == 5
    assert found["outlooks"][0]["times"][0] == "2013-01"
    (typed,) = predict(web, "ahead", " ".join(str(40 + i % 12) for i in range(36))).json()[
        "outputs"
    ]
    assert typed["series"][0]["past"][-1] == 40 + 35 % 12
    bad = predict(web, "ahead", "not,a\nseries")
    assert bad.status_code == 422 and bad.json()["code"].startswith("D")


def test_music_is_drawn(web):
    (found,) = predict(web, "player", "", steps=4, seed=2).json()["outputs"]
    assert len(found["frames"]) == 4 and found["view"]["view"] == "piano_roll"


@pytest.mark.parametrize(
    ("model", "parameters", "code"),
    [
        ("writer", {"temperature": -1}, "U030"),
        ("writer", {"temprature": 1}, "U010"),
        ("writer", {"stop": 5}, "U010"),
        ("attentive", {"beam": 0}, "U060"),
        ("attentive", {"beam": 2, "nbest": 3}, "U061"),
        ("attentive", {"tree": True}, "U010"),
        ("attentive", {"prefix": 5}, "U010"),
        ("tagger", {"block_ngrams": 2}, "U062"),
        ("player", {"steps": 0}, "U332"),
    ],
)
def test_wrong_parameters_have_their_own_errors(web, model, parameters, code):
    answer = predict(web, model, "the cat", **parameters)
    assert answer.status_code == 422 and answer.json()["code"] == code
    assert answer.json()["detail"].startswith(f"error[{code}]: ")


def test_an_empty_input_and_an_unknown_model_are_problems(web):
    assert predict(web, "tagger", "").json()["code"] == "D023"
    missing = predict(web, "wroter", "a")
    assert missing.status_code == 404 and "did you mean 'writer'?" in missing.json()["help"]


def test_a_stream_has_each_symbol_with_its_alternatives(web, trained):
    body = {"prompt": "the ", "parameters": {"limit": 5, "seed": 4}}
    answer = web.post(f"{MODELS}/writer:stream", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = parsed(answer.content)
    tokens = [data for _, kind, data in told if kind == "token"]
    (done,) = [data for _, kind, data in told if kind == "done"]
    assert done["text"] == "".join(token["text"] for token in tokens)
    assert [token["place"] for token in tokens] == list(range(len(tokens)))
    for token in tokens:
        assert len(token["alternatives"]) == 5
        chances = [p for _, p in token["alternatives"]]
        assert chances == sorted(chances, reverse=True) and 0 < sum(chances) <= 1 + 1e-6
    first = load(trained / "writer").score(["the " + tokens[0]["text"]])[0]
    nats = math.log(tokens[0]["p"])
    assert nats == pytest.approx(float(first.log_probs[4]), abs=1e-3)


def test_a_stream_that_cannot_begin_is_a_problem(web):
    for model, body, code in (
        ("tagger", {"prompt": "the"}, "M110"),
        ("writer", {"prompt": "the", "parameters": {"top_p": 7}}, "U030"),
        ("writer", {"prompt": "ЖЖ"}, "U031"),
    ):
        answer = web.post(f"{MODELS}/{model}:stream", json=body)
        assert answer.status_code == 422 and answer.json()["code"] == code


@pytest.mark.parametrize("model", sorted(RUNS))
def test_every_view_that_is_offered_can_be_had(web, model):
    detail = web.get(f"{MODELS}/{model}")
    assert detail.status_code == 200
    offered = detail.json()["views"]
    assert not {v["view"] for v in offered} & {v["view"] for v in detail.json()["missing"]}
    body = {"series": SERIES} if model == "ahead" else {"text": "the cat sees"}
    if model == "player":
        body = {"text": "60,64,67 60,65,69 -"}
    for view in offered:
        answer = web.post(f"{MODELS}/{model}/views/{view['view']}", json=body)
        assert answer.status_code == 200, (view, answer.text[:500])
        told = answer.json()
        assert told["view"] == view["view"] and told["model"] == model and told["caption"]


def test_a_view_comes_as_a_drawing_too(web):
    path, body = f"{MODELS}/attentive/views/attention", {"text": "the cat sees"}
    svg = web.post(path, json=body, headers={"Accept": "image/svg+xml"})
    assert svg.headers["content-type"].startswith("image/svg+xml") and b"<svg" in svg.content
    png = web.post(path, json=body, headers={"Accept": "image/png"})
    assert png.headers["content-type"] == "image/png" and png.content.startswith(b"\x89PNG")
    html = web.post(path, json=body, headers={"Accept": "text/html"})
    assert html.headers["content-type"].startswith("text/html") and b"<figure" in html.content


@pytest.mark.parametrize(
    ("view", "body", "code"),
    [
        ("attention", {"text": "the cat", "lair": 1}, "U350"),
        ("attention", {"text": "the cat", "layer": "x"}, "U350"),
        ("nothing", {"text": "the cat"}, "U002"),
        ("gates", {"text": "a" * 3000}, "S235"),
        ("attention", {"dataset": "0123456789ab"}, "S250"),
        ("attention", {"series": "a,b\n1,2\n"}, "U316"),
    ],
)
def test_a_view_that_cannot_be_had_says_why(web, view, body, code):
    answer = web.post(f"{MODELS}/attentive/views/{view}", json=body)
    assert answer.status_code in (404, 422) and answer.json()["code"] == code


@pytest.mark.parametrize("field", ["file", "view", "self", "step", "series_", "clip", "layer"])
def test_only_the_options_that_a_view_lists_pass(web, trained, files, field):
    """No request chooses a file of the computer, or another argument of the view's function."""
    value = {"file": str(files / "series.csv"), "step": 0, "layer": -1}.get(field, "forecast")
    answer = web.post(f"{MODELS}/ahead/views/forecast", json={"text": "", field: value})
    assert answer.status_code == 422 and answer.json()["code"] == "U350"
    assert answer.json()["problem"].startswith(f"{field}: ")


@pytest.mark.parametrize(("model", "key"), [("ahead", "train"), ("counts", "test")])
def test_a_pipe_among_the_data_of_a_run_is_not_opened(runs, model, key):
    """Opening a pipe that nobody writes to would keep a worker for ever."""
    pipe, recipe = runs / model / "pipe.csv", runs / model / "recipe.toml"
    os.mkfifo(pipe)
    changed = re.sub(f"(?m)^{key} = .*$", f'{key} = "{pipe}"', recipe.read_text())
    assert str(pipe) in changed
    recipe.write_text(changed)
    with client(runs, Limits(seconds=5)) as web:
        assert web.get(f"{MODELS}/{model}").status_code == 200


@pytest.mark.parametrize("model", ["tagger", "judge", "attentive"])
def test_there_is_nothing_to_see_in_an_empty_text(web, model):
    for view in web.get(f"{MODELS}/{model}").json()["views"]:
        for text in ("", " \n"):
            answer = web.post(f"{MODELS}/{model}/views/{view['view']}", json={"text": text})
            assert answer.status_code == 422 and answer.json()["code"] == "D023", view["view"]


def test_views_of_the_past_are_read_from_what_was_kept(runs):
    folder = runs / "writer" / "probes"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    view = {"view": "gates", "version": 1, "model": "writer", "caption": "Then.", "notes": []}
    kept = {"step": 4, "inputs": [{"text": "the cat", "answer": "", "views": {"gates": view}}]}
    (folder / "step-00000004.json").write_text(json.dumps(kept))
    with client(runs) as web:
        path = f"{MODELS}/writer/views/gates"
        told = web.post(f"{path}?step=4", json={"text": "the cat"}).json()
        assert told["caption"] == "Then." and told["step"] == 4
        for query, body in (("5", {"text": "the cat"}), ("4", {"text": "another"})):
            answer = web.post(f"{path}?step={query}", json=body)
            assert answer.status_code == 404 and answer.json()["code"] == "S264"
        other = web.post(f"{MODELS}/writer/views/next?step=4", json={"text": "the cat"})
        assert other.json()["code"] == "S264"
        assert web.get("/api/v1/runs/writer").json()["probes"] == {
            "steps": [4],
            "inputs": ["the cat"],
            "views": ["gates"],
        }


def test_the_last_three_are_kept_and_new_weights_are_seen(runs):
    with client(runs) as web:
        for name in ("counts", "writer", "judge", "tagger"):
            assert predict(web, name, "the cat").status_code == 200
        assert web.get("/api/v1/status").json()["loaded"] == ["tagger", "judge", "writer"]
        before = predict(web, "counts", "the ", limit=30, temperature=0).json()["outputs"][0][
            "text"
        ]
        shutil.rmtree(runs / "counts")
        shutil.copytree(runs / "writer", runs / "counts")
        os.utime(runs / "counts" / "weights.safetensors")
        after = predict(web, "counts", "the ", limit=30, temperature=0).json()["outputs"][0]["text"]
        as_writer = predict(web, "writer", "the ", limit=30, temperature=0).json()["outputs"][0]
        assert after == as_writer["text"] != before


def test_a_model_has_a_card_and_snippets_and_can_be_deleted(runs):
    with client(runs) as web:
        assert web.get(f"{MODELS}/judge/card").json()["markdown"].startswith("# judge")
        detail = web.get(f"{MODELS}/judge").json()
        assert detail["labels"] == ["long", "short"] and detail["examples"]
        assert (
            "urllib" in detail["snippets"]["python"] and "fetch" in detail["snippets"]["javascript"]
        )
        body = detail["snippets"]["curl"].split("-d '")[1].rstrip("'")
        asked = json.loads(body)
        assert predict(web, "judge", *asked["inputs"]).status_code == 200
        assert web.delete(f"{MODELS}/judge").status_code == 204
        assert not (runs / "judge").exists() and web.get(f"{MODELS}/judge").status_code == 404
        (runs / "tagger" / "weights.safetensors").unlink()
        answer = predict(web, "tagger", "the cat")
        assert answer.status_code == 409 and answer.json()["code"] == "S262"


def test_a_pickle_is_never_opened(runs):
    (runs / "judge" / "weights.safetensors").write_bytes(b"\x80\x04cos\nsystem\n.")
    with client(runs) as web:
        answer = predict(web, "judge", "the cat")
        assert answer.status_code == 422 and answer.json()["code"] == "M112"
        (runs / "judge" / "weights.safetensors").write_bytes(b"junk")
        assert predict(web, "judge", "the cat").json()["code"] == "M113"
