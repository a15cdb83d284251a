"""seqloom mix: two runs made into one, which is then a run like any other."""

import json
import subprocess
import sys

import numpy as np
import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.errors import SeqloomError
from seqloom.evaluation.evaluate import evaluate
from seqloom.experiments.ensemble import mix_runs
from seqloom.model import Search
from seqloom.recipe import Recipe
from seqloom.runs.splits import read_parts

SMALL = {"name": "recurrent", "embedding_size": 8, "hidden_size": 8}
MODELS = {
    "counts": {"name": "ngram", "order": 2},
    "lately": {"name": "cache", "window": 20},
    "writer": SMALL,
}


def recipe(data, model, task="language", file="text.txt", **options):
    return Recipe(
        data={"train": str(data / file), "valid_fraction": 0.2, "test_fraction": 0.2},
        task={"name": task, **options},
        model=model,
        training={"epochs": 2, "batch_size": 8, "learning_rate": 0.02},
    )


@pytest.fixture
def here(data, monkeypatch):
    monkeypatch.chdir(data)
    for name, model in MODELS.items():
        seqloom.train(recipe(data, model), name=name)
    return data


def bits(run, part):
    examples = getattr(read_parts(run.task, run.recipe.build_data()), part)
    batch = run.task.batch(examples)
    with run.model.inference_mode():
        return -float(np.asarray(run.model.log_prob(batch)).sum()) / batch.target.lengths.sum()


@pytest.mark.parametrize("first, second", [("counts", "lately"), ("counts", "writer")])
def test_a_mixture_is_at_least_as_good_as_either(here, first, second):
    found = mix_runs(first, second)
    either = [bits(seqloom.load(name), "valid") for name in (first, second)]
    assert bits(found.run, "valid") <= min(either) + 1e-6
    np.testing.assert_allclose(np.array(found.bits[:2]) * np.log(2), either, rtol=1e-5)
    assert found.bits[2] * np.log(2) == pytest.approx(bits(found.run, "valid"), rel=1e-5)
    again = seqloom.load(found.run.folder)
    assert bits(again, "test") == bits(found.run, "test")
    assert again.recipe.model["weight"] == found.weight


def test_a_mixture_is_a_run_like_any_other(here, capsys):
    run = seqloom.mix("counts", "lately", name="both")
    assert run.name == "both" and run.generate("the") == run.generate("the")
    assert run.evaluate().values()["bits_per_character"] > 0
    assert run.stream().step("t").log_probs.shape == (len(run.task.vocabulary.tokens),)
    for command in (["evaluate", "both"], ["generate", "both", "the"], ["show", "both"], ["runs"],
                    ["compare", "counts", "lately", "both"], ["predict", "both", "the"]):  # fmt: skip
        assert main(command) == 0, capsys.readouterr()
    assert "mixture" in capsys.readouterr().out
    nested = seqloom.mix("both", "writer")
    assert nested.name == "mixture-1"
    assert bits(nested, "valid") <= bits(run, "valid") + 1e-6
    assert "of both and" in (nested.folder / "card.md").read_text()


def test_what_the_command_says(here, capsys):
    assert main(["mix", "counts", "writer", "--name", "both", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["run"] == "both" and sum(told["shares"]) == pytest.approx(1)
    values = [one["valid"] for one in told["bits_per_symbol"]]
    assert values[2] <= min(values[:2])
    (here / "again.txt").write_text("the the the the\na a a a a a a\ncat cat cat\n")
    assert main(["mix", "counts", "lately", "--valid", "again.txt"]) == 0
    told = capsys.readouterr()
    assert "The mixture saves" in told.out and told.out.splitlines()[-1] == "runs/mixture-1"
    assert "seqloom compare counts lately mixture-1" in told.err
    assert main(["mix", "counts", "counts", "-q"]) == 0
    assert capsys.readouterr().out == "runs/mixture-2\n"


def test_a_continuous_text_is_mixed_as_one(here):
    """The share is found with all that was remembered, not line by line."""
    for name in ("lately", "writer"):
        made = recipe(here, MODELS[name], layout="stream")
        made = made.with_settings({"training.batch_size": 2, "training.bptt": 16})
        seqloom.train(made, name=f"long-{name}")
    found = mix_runs("long-lately", "long-writer")
    valid = read_parts(found.run.task, found.run.recipe.build_data()).valid
    judged = evaluate(found.run.model, found.run.task, valid, Search()).tallies["perplexity"]
    nats = sum(ratio.top for ratio in judged) / sum(ratio.bottom for ratio in judged)
    assert found.bits[2] * np.log(2) == pytest.approx(nats, rel=1e-6)
    assert found.bits[2] <= min(found.bits[:2])
    with pytest.raises(SeqloomError, match="M171"):
        mix_runs("long-lately", "lately")


def test_nothing_is_bought_by_a_copy(here, capsys):
    assert main(["mix", "counts", "counts"]) == 0
    assert "The mixture gains nothing" in capsys.readouterr().out


def test_other_data_is_told(here, capsys):
    text = (here / "text.txt").read_text()
    (here / "more.txt").write_text(text + text)
    first = recipe(here, MODELS["counts"], file="more.txt")
    first = first.with_settings({"data.allow_overlap": True, "data.valid": str(here / "text.txt")})
    first = first.with_settings({"data.test": str(here / "text.txt")})
    second = first.with_settings({"data.train": str(here / "text.txt")})
    for name, made in (("twice", first), ("once", second)):
        seqloom.train(made, name=name)
    assert main(["mix", "twice", "once"]) == 0
    assert "note: twice and once were not trained on the same split" in capsys.readouterr().err


def refused(code, *arguments):
    with pytest.raises(SeqloomError) as told:
        seqloom.mix(*arguments)
    assert told.value.code == code
    return told.value


def test_runs_that_do_not_fit_are_refused(here):
    seqloom.train(recipe(here, MODELS["counts"], tokens="words"), name="words")
    refused("M171", "counts", "words")
    seqloom.train(recipe(here, SMALL, "classify", "labels.csv"), name="judge")
    refused("M171", "counts", "judge")
    refused("M173", "judge", "judge")
    (here / "other.txt").write_text("so zoo\n" * 3 + "fox\nox\nso\nzo\nxo\noz\n")
    seqloom.train(recipe(here, MODELS["counts"], file="other.txt"), name="other")
    assert "differ" in refused("M172", "counts", "other").problem
    refused("U008", "counts", "nobody")


def test_a_mixture_cannot_be_trained(here, capsys):
    seqloom.mix("counts", "lately", name="both")
    assert main(["train", "--resume", "both"]) == 4
    assert "M174" in capsys.readouterr().err
    assert main(["train", "language", "text.txt", "-m", "mixture"]) == 4
    assert "M175" in capsys.readouterr().err
    assert seqloom.load("both").generate("a") is not None


def test_counts_are_mixed_without_torch(here):
    code = (
        "import sys, seqloom; seqloom.mix('counts', 'lately').generate('the');"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=here).returncode == 0
