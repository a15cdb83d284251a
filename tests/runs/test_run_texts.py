"""A string given to a run is one text, in every task and ability, and never a list of characters."""

import numpy as np
import pytest

from seqloom.config import as_strings
from seqloom.decoding import Sampling
from seqloom.errors import UsageError
from seqloom.experiments.ladder import ladder_of
from seqloom.recipe import Recipe
from seqloom.runs.run import Run
from seqloom.runs.splits import read_parts

CELLS = {"embedding_size": 3, "hidden_size": 4}
RUNS = {
    "language": ("text.txt", {"name": "recurrent", **CELLS}, "the cat"),
    "tag": ("tags.conll", {"name": "recurrent", **CELLS}, "the cat sees"),
    "classify": ("labels.csv", {"name": "recurrent", **CELLS}, "the cat sees"),
    "translate": ("pairs.tsv", {"name": "encoder-decoder", **CELLS}, "the cat"),
    "forecast": ("series.csv", {"name": "nlinear", "look_back": 12}, "40 41 42 43"),
    "series-classify": ("waves.jsonl", {"name": "recurrent", "hidden_size": 4}, "1 0; 2 1; 3 0"),
}


def run_of(task, folder):
    """A run that has not been trained."""
    file, model, text = RUNS[task]
    recipe = Recipe({"train": str(folder / file)}, {"name": task}, model)
    made = recipe.build_task()
    parts = read_parts(made, recipe.build_data())
    made.prepare(parts.train)
    return Run(folder, recipe, made, recipe.build_model(made.signature()), parts), text


@pytest.mark.parametrize("task", [task for task in RUNS if task != "language"])
def test_one_string_has_one_prediction(data, task):
    run, text = run_of(task, data)
    assert run.predict(text) == run.predict([text])
    assert len(run.predict([text, text])) == 2


def test_one_string_is_one_text_to_score_and_one_prompt(data):
    run, text = run_of("language", data)
    assert [one.text for one in run.score(text)] == [text]
    how = Sampling(limit=8, temperature=1.5, seed=1)
    pieces = list(run.stream_generate(text, how))
    assert pieces and {piece.row for piece in pieces} == {0}
    allowed = [list(run.stream_generate(text, how, allow=allow)) for allow in ("the", ["the"])]
    assert [p.text for p in allowed[0]] == [p.text for p in allowed[1]]
    assert run.generate(text, how, stop="xq") == run.generate(text, how, stop=["xq"])


def test_one_string_is_one_text_for_the_views_of_gates(data):
    run, text = run_of("classify", data)
    one, same = run.gate_statistics(text), run.gate_statistics([text])
    assert one.to_json() == same.to_json()
    assert run.gradient_flow(text).to_json() == run.gradient_flow([text]).to_json()


def test_one_string_is_one_series_and_one_model(data):
    run, _ = run_of("forecast", data)
    (name,) = (one.name for one in run.forecast(data / "series.csv"))
    (one,) = run.forecast(data / "series.csv", series=name)
    assert one.name == name and np.isfinite(one.forecast.mean).all()
    with pytest.raises(UsageError, match="'sale'"):
        run.forecast(data / "series.csv", series="sale")
    rungs = ladder_of("forecast")
    assert rungs.select("nlinear").rungs == rungs.select(["nlinear"]).rungs


def test_as_strings():
    assert as_strings("great") == ["great"] and as_strings("") == [""]
    assert as_strings(iter(["a", "b"])) == as_strings(("a", "b")) == ["a", "b"]
