"""seqloom translate: beam search, n-best lists, constraints, search trees, ensembles."""

import json
import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.prediction import Search
from seqloom.recipe import Recipe
from seqloom.signature import END

from .conftest import SMALL

TEXTS = ["the cat sees a dog", "a bird likes", "the fish hears the bird", "a dog"]


@pytest.fixture(scope="session")
def more(tmp_path_factory, files):
    """Another run of the same data, and one of other symbols, apart from the shared ones."""
    folder = tmp_path_factory.mktemp("more")
    for name, task, seed in (("second", {}, 7), ("letters", {"target_tokens": "characters"}, 1)):
        recipe = Recipe(
            data={"train": str(files / "pairs.tsv"), "test_fraction": 0.2},
            task={"name": "translate", **task},
            model={"name": "encoder-decoder", **SMALL},
            training={"epochs": 1, "batch_size": 8, "warmup_steps": 2, "seed": seed},
        )
        seqloom.train(recipe, name=name, runs=folder)
    return folder


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_answers_that_are_cut_are_told_of(cli, tmp_path):
    given = ("attentive", *TEXTS[:2], "--length", "2", "--shortest", "3")
    done = cli("translate", *given)
    assert "note: inputs 1, 2 have an output that was cut at the maximum number" in done.err
    assert not cli("translate", *given, "--quiet").err
    for more, key in (
        ([], ""),
        (["--beam", "2", "--nbest", "2"], "nbest"),
        (["--sample", "2"], "drawn"),
    ):
        for one in lines(cli("translate", *given, "--json", *more).out):
            assert one["ended"] == "limit" and len(one["output"].split()) <= 2
            assert all(other["ended"] == "limit" for other in one.get(key, ()))
    done = cli("translate", "attentive", TEXTS[0], "--json")
    assert lines(done.out)[0]["ended"] == "end" and "cut" not in done.err
    table = tmp_path / "some.tsv"
    table.write_text("source\nthe cat sees a dog\n")
    done = cli("translate", "attentive", str(table), "--length", "2", "--shortest", "3")
    assert "input 1 has an output that was cut" in done.err
    assert cli("translate", "attentive", "a", "--length", "0").code == 2


def test_evaluation_counts_answers_that_are_cut(cli, monkeypatch):
    assert json.loads(cli("evaluate", "attentive", "--json").out)["cut"] == 0
    for command in ("evaluate", "errors"):
        module = f"seqloom.cli.commands.{command}.search_from"
        monkeypatch.setattr(module, lambda args: Search(limit=args.length, shortest=9))
        done = cli(command, "attentive", "--length", "2", "--json")
        assert "note: 8 of 8 outputs were cut at the maximum number of tokens" in done.err
        assert command == "errors" or json.loads(done.out)["cut"] == 8


def test_a_length_penalty_is_chosen_on_validation(cli):
    given = ("evaluate", "attentive", "--beam", "3", "--json", "--choose-length-penalty")
    done = cli(*given, "0,1.5")
    found = json.loads(done.out)
    chosen = found["length_penalty_choice"]
    assert [one["length_penalty"] for one in chosen["tried"]] == [0.0, 1.5]
    assert found["length_penalty"] == chosen["best"]
    assert f"note: length penalty {chosen['best']:g}, chosen by" in done.err
    assert cli(*given, "some").code == 2
    assert cli("evaluate", "tagger", "--choose-length-penalty").code == 2


def test_lists_of_the_best_in_lines(cli):
    done = cli("translate", "attentive", *TEXTS[:2], "--beam", "4", "--nbest", "3")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert done.code == 0 and [row[0] for row in rows] == ["1", "2", "3"] * 2
    scores = [float(row[1]) for row in rows]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    plain = cli("translate", "attentive", *TEXTS[:2], "--beam", "4").out.splitlines()
    assert [rows[0][2], rows[3][2]] == plain, "the first is the answer"


def test_lists_of_the_best_as_json(cli, runs):
    found = lines(
        cli("translate", "attentive", *TEXTS, "--beam", "4", "--nbest", "2", "--json").out
    )
    run = seqloom.load(runs / "attentive")
    for text, one in zip(TEXTS, found, strict=True):
        assert one["input"] == text and len(one["nbest"]) == 2
        assert one["output"] == one["nbest"][0]["output"]
        assert one["log_prob"] == one["nbest"][0]["log_prob"]
        for other in one["nbest"]:
            batch = run.task.batch([run.task.with_target(run.task.question(text), other["output"])])
            with run.model.inference_mode():
                right = run.model.log_prob(batch).item()
            assert other["log_prob"] == pytest.approx(right, abs=1e-4)
            length = int(batch.target.lengths[0])
            assert other["score"] == pytest.approx(right / length, abs=1e-4)


def test_a_file_in_batches_of_tokens_keeps_its_order(cli, tmp_path):
    file = tmp_path / "in.txt"
    file.write_text("\n".join([*TEXTS, "", *TEXTS[::-1]]) + "\n")
    whole = cli("translate", "attentive", "--file", str(file), "--beam", "2").out
    assert len(whole.split("\n")) == 10
    for budget in ("1", "7", "4000"):  # a sentence longer than that stands alone
        done = cli("translate", "attentive", str(file), "--beam", "2", "--batch-tokens", budget)
        assert done.out == whole and done.code == 0


def test_what_is_read_at_once_stays_within_its_budget(runs, monkeypatch):
    run, seen = seqloom.load(runs / "attentive"), []
    right = type(run.model).predict

    def predict(self, source, search):
        seen.append(source.values.shape)
        return right(self, source, search)

    monkeypatch.setattr(type(run.model), "predict", predict)
    run.predictions(TEXTS * 3, Search(), tokens=13)
    assert all(rows == 1 or rows * time <= 13 for rows, time in seen)
    assert sum(rows for rows, _ in seen) == 12 and any(rows > 1 for rows, _ in seen)


def test_a_pipe_is_answered_as_it_comes(runs):
    """The first answer is there before the second question is asked."""
    command = [sys.executable, "-m", "seqloom", "translate", "attentive", "--runs-dir", str(runs)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        watch = threading.Timer(120, process.kill)
        watch.start()
        answers = []
        for text in (TEXTS[0], TEXTS[1]):
            process.stdin.write(text + "\n")
            process.stdin.flush()
            answers.append(process.stdout.readline())
        rest, _ = process.communicate(TEXTS[2] + "\n" + TEXTS[3] + "\n")
        watch.cancel()
    found = [*answers, *rest.splitlines(keepends=True)]
    run = seqloom.load(runs / "attentive")
    assert [line.rstrip("\n") for line in found] == run.predict(TEXTS)


def test_rules_for_answers(cli, tmp_path):
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("the\ncat\nsees\nzebra\n")
    done = cli("translate", "attentive", *TEXTS, "--allow", str(allowed), "--shortest", "2")
    assert set(done.out.split()) <= {"the", "cat", "sees"}
    assert all(len(line.split()) >= 2 for line in done.out.splitlines())
    assert "1 token of" in done.err and "ignored" in done.err
    done = cli("translate", "attentive", *TEXTS, "--prefix", "dog sees", "--beam", "3")
    assert all(line.startswith("dog sees") for line in done.out.splitlines())
    done = cli("translate", "attentive", *TEXTS, "--block-ngrams", "1", "--beam", "3")
    assert all(len(set(line.split())) == len(line.split()) for line in done.out.splitlines())
    done = cli("translate", "attentive", *TEXTS, "--coverage", "0.5", "--beam", "3", "--json")
    assert done.code == 0 and len(lines(done.out)) == 4


def test_answers_are_drawn(cli, runs, tmp_path):
    """Each by itself: the same from the same seed, whatever is asked with it and however."""
    options = ["--sample", "3", "--temperature", "2", "--seed", "4"]
    done = cli("translate", "attentive", *TEXTS, *options)
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert done.code == 0 and [row[0] for row in rows] == ["1", "2", "3"] * len(TEXTS)
    assert len({row[2] for row in rows[:3]}) > 1, "not always the best"
    file = tmp_path / "texts.txt"
    file.write_text("\n\n".join(TEXTS) + "\n")
    read = cli("translate", "attentive", str(file), *options, "--batch-tokens", "6")
    texts = [line.split("\t")[2] for line in read.out.splitlines() if line]
    assert texts == [row[2] for row in rows]
    found = lines(cli("translate", "attentive", *TEXTS, *options, "--json").out)
    for place, one in enumerate(found):
        assert [it["output"] for it in one["drawn"]] == texts[3 * place : 3 * place + 3]
        assert one["output"] == one["drawn"][0]["output"]
        assert [f"{it['log_prob']:.4f}" for it in one["drawn"]] == [
            row[1] for row in rows[3 * place : 3 * place + 3]
        ]
    other = cli("translate", "attentive", *TEXTS, *options[:-1], "5").out
    assert other != done.out
    alone = cli("translate", "attentive", TEXTS[0], "--sample", "1", *options[2:]).out
    assert alone == texts[0] + "\n"


def test_rules_hold_for_answers_that_are_drawn(cli, tmp_path):
    file = tmp_path / "allowed.txt"
    file.write_text("cat\nthe\n")
    rules = ["--allow", str(file), "--prefix", "cat the", "--shortest", "3"]
    for line in cli("translate", "attentive", *TEXTS, "--sample", "5", *rules).out.splitlines():
        words = line.split("\t")[2].split()
        assert words[:2] == ["cat", "the"] and set(words) == {"cat", "the"} and len(words) >= 3


def test_runs_draw_together(cli, more):
    together = cli(
        "translate", "attentive", *TEXTS, "--sample", "2", "--with", str(more / "second")
    )
    assert together.code == 0 and len(together.out.splitlines()) == 2 * len(TEXTS)
    assert together.out != cli("translate", "attentive", *TEXTS, "--sample", "2").out


def test_texts_that_go_on_are_drawn_by_another_command(cli):
    done = cli("predict", "counts", "the", "--sample", "2")
    assert done.code == 2 and "error[U066]" in done.err and "seqloom generate" in done.err
    done = cli("tag", "tagger", "the cat", "--sample", "2")
    assert done.code == 2 and "error[U062]: sample: this model does not search" in done.err


def test_the_tree_of_a_search(cli, runs, tmp_path):
    """What it says can be checked: parents, sums of log-probabilities, and the answers."""
    file = tmp_path / "tree.jsonl"
    options = ["--beam", "3", "--nbest", "2", "--json", "--tree", str(file)]
    found = lines(cli("translate", "attentive", *TEXTS, *options).out)
    run = seqloom.load(runs / "attentive")
    for one, tree in zip(found, lines(file.read_text()), strict=True):
        nodes = tree["nodes"]
        assert tree["view"] == "beam" and tree["input"] == one["input"]
        for path, right in zip(tree["answers"], one["nbest"], strict=True):
            words = [nodes[node]["symbol"] for node in path]
            assert " ".join(word for word in words if word != "</s>") == right["output"]
            assert nodes[path[-1]]["score"] == pytest.approx(right["score"])
            assert nodes[path[-1]]["log_prob"] == pytest.approx(right["log_prob"])
        for node in nodes:
            parent = nodes[node["parent"]] if node["parent"] >= 0 else None
            assert (parent["step"] + 1 if parent else 0) == node["step"]
            assert node["log_prob"] <= (parent["log_prob"] if parent else 0.0)
            assert parent is None or parent["fate"] == "grows"
        for step in {node["step"] for node in nodes}:
            fates = [node["fate"] for node in nodes if node["step"] == step]
            assert fates.count("grows") + fates.count("cut") <= 3 and len(fates) <= 6
    answer = run.predictions(TEXTS[:1], Search(beam=3, tree=True))[0]
    assert answer.tree.nodes[answer.tree.ends[0]].token == END


def test_runs_answer_together(cli, runs, more):
    """An ensemble averages the probabilities of every next token."""
    one, other = (seqloom.load(folder) for folder in (runs / "attentive", more / "second"))
    both = one.ensemble(other)
    batch = one.task.batch(
        [one.task.with_target(one.task.question(TEXTS[0]), "dog a sees cat the")]
    )
    with both.model.inference_mode():
        total, states = 0.0, [run.model.begin(batch.source) for run in (one, other)]
        symbols = np.array([1])
        for symbol in batch.target.values[0]:
            chances = []
            for place, run in enumerate((one, other)):
                log_probs, states[place] = run.model.step(symbols, states[place])
                chances.append(math.exp(log_probs[0, symbol]))
            total, symbols = total + math.log(sum(chances) / 2), np.array([symbol])
        assert both.model.log_prob(batch)[0] == pytest.approx(total, abs=1e-5)
    options = ["--beam", "3", "--nbest", "2", "--json", "--with", str(more / "second")]
    for one in lines(cli("translate", "attentive", *TEXTS, *options).out):
        for answer in one["nbest"]:
            example = both.task.with_target(both.task.question(one["input"]), answer["output"])
            with both.model.inference_mode():
                right = both.model.log_prob(both.task.batch([example]))[0]
            assert answer["log_prob"] == pytest.approx(right, abs=1e-4)
    alone, doubled = (cli("translate", "attentive", *TEXTS, *way).out for way in ([], WITH_ITSELF))
    assert alone == doubled
    told = ["--with", str(more / "second"), "--beam", "2", "--coverage", "0.1"]
    done = cli("evaluate", "attentive", *told)
    assert done.code == 0 and f"ensemble with {more / 'second'}" in done.out


WITH_ITSELF = ["--with", "attentive", "--with", "attentive"]


def test_language_runs_answer_together(cli):
    done = cli("predict", "counts", "the c", "--with", "writer")
    assert done.code == 0 and done.out.startswith("the c")
    assert cli("evaluate", "counts", "--with", "writer").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--beam", "200"], 2, "error[U063]: a beam of 200 is wider than the vocabulary"),
        (["--beam", "2", "--nbest", "3"], 2, "error[U061]"),
        (["--nbest", "0"], 2, "--nbest 0: expected a whole number of at least 1"),
        (["--batch-tokens", "0"], 2, "--batch-tokens 0: expected a whole number of at least 1"),
        (["--block-ngrams", "-1"], 2, "error[U060]: block_ngrams -1"),
        (["--length-penalty", "nan"], 2, "error[U060]: length_penalty nan"),
        (["--coverage", "-2"], 2, "error[U060]: coverage_penalty -2"),
        (["--prefix", "zebra cat gnu"], 2, "not in the vocabulary: 'zebra', 'gnu'"),
        (["--allow", "nowhere.txt"], 3, "error[D001]"),
        (["--with", "attentve"], 2, "did you mean 'attentive'?"),
        (["--with", "tagger"], 4, "error[M191]: tagger does not generate token by token"),
        (["--tree", "no/where.jsonl"], 6, "error[E302]"),
        (["--sample", "0"], 2, "error[U060]: sample 0: expected a whole number of at least 1"),
        (["--sample", "2", "--top-p", "0"], 2, "error[U030]: top_p 0"),
        (["--temperature", "2"], 2, "error[U067]: --temperature is an option of sampling"),
        (
            ["--sample", "2", "--beam", "3"],
            2,
            "error[U067]: --beam is an option of search",
        ),
        (
            ["--sample", "2", "--tree", "tree.jsonl"],
            2,
            "error[U067]: --tree is an option of search",
        ),
        (["--sample", "1", "--explain"], 2, "error[U067]: --explain is an option of search"),
    ],
)
def test_what_cannot_be_translated(cli, arguments, code, text):
    done = cli("translate", "attentive", "the cat", *arguments)
    assert done.code == code and text in done.err and not done.out, done.err


def test_runs_of_other_symbols(cli, more):
    done = cli("translate", "attentive", "the cat", "--with", str(more / "letters"))
    assert done.code == 4 and not done.out
    assert "error[M192]: attentive and letters do not tokenize" in done.err


def test_an_allow_list_that_allows_nothing(cli, tmp_path):
    file = tmp_path / "allowed.txt"
    file.write_text("zebra\ngnu\n")
    done = cli("translate", "attentive", "the cat", "--allow", str(file))
    assert done.code == 2 and "error[U064]" in done.err and "'zebra', 'gnu'" in done.err
    file.write_text("\n\n")
    done = cli("translate", "attentive", "the cat", "--allow", str(file))
    assert done.code == 3 and "has no tokens to allow" in done.err


def test_runs_of_different_vocabularies(runs, files, tmp_path, capsys):
    other = tmp_path / "other.tsv"
    other.write_text((files / "pairs.tsv").read_text() + "a gnu sees\tsees gnu a\n" * 9)
    recipe = Recipe(
        data={"train": str(other), "test_fraction": 0.2},
        task={"name": "translate"},
        model={"name": "encoder-decoder", **SMALL},
        training={"epochs": 1},
    )
    run = seqloom.train(recipe, name="gnu", runs=tmp_path)
    command = ["translate", str(runs / "attentive"), "the cat", "--with", str(run.folder)]
    assert main(command) == 4
    assert "error[M193]: the vocabularies of attentive and gnu differ" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--shortest", "2"], ["--prefix", "N"]])
def test_a_tagger_does_not_search(cli, option):
    done = cli("tag", "tagger", "the cat", *option)
    assert done.code == 2 and "error[U062]" in done.err


def test_a_tagger_gives_its_best_few_answers_without_a_search(cli):
    done = cli("tag", "tagger", "the cat", "--beam", "3", "--nbest", "3", "--json")
    told = json.loads(done.out)["nbest"]
    assert done.code == 0 and len({str(answer) for answer in told}) == 3


def test_coverage_without_attention(cli):
    done = cli("translate", "plain", "the cat", "--coverage", "0.2", "--beam", "2")
    assert done.code == 4 and "error[M" in done.err and not done.out
    assert cli("predict", "counts", "the", "--coverage", "0.2", "--beam", "2").code == 4
