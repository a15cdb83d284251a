"""Tags: schemes learned and shown, features beside words, offsets into what the user wrote."""

import json
from pathlib import Path

import numpy as np
import pytest

import seqloom
from seqloom.config import options
from seqloom.data.formats.base import JoinedPrediction
from seqloom.data.options import Data
from seqloom.data.text.tag_schemes import entities, violations
from seqloom.errors import DataError, UsageError
from seqloom.metrics import value_of
from seqloom.recipe import Recipe
from seqloom.runs.check import check
from seqloom.signature import Columns, Labels, Letters, Tokens
from seqloom.tasks.tag import Tag, Tagged

BIO = [
    Tagged(["Ada", "Lovelace", "met", "Alan", "."], ["B-per", "I-per", "O", "B-per", "O"], 1),
    Tagged(["New", "York", "is", "big", "."], ["B-loc", "I-loc", "O", "O", "O"], 7),
    Tagged(["Alan", "Ada", "left", "Rome", "."], ["B-per", "B-per", "O", "B-loc", "O"], 13),
]
IOB1 = [
    BIO[0]._replace(tags=["I-per", "I-per", "O", "I-per", "O"]),
    BIO[1]._replace(tags=["I-loc", "I-loc", "O", "O", "O"]),
    BIO[2]._replace(tags=["I-per", "B-per", "O", "I-loc", "O"]),
]


def prepared(examples, **options) -> Tag:
    task = Tag(min_frequency=1, **options)
    task.prepare(examples)
    return task


def written(folder: Path, text: str, name: str = "a.conll") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("examples", [BIO, IOB1])
@pytest.mark.parametrize("scheme", ["as-is", "bio", "bioes"])
def test_a_model_learns_one_scheme_and_users_see_theirs(examples, scheme):
    task = prepared(examples, scheme=scheme)
    labels = set(task.tags.labels)
    if scheme == "bioes":
        assert labels == {"O", "S-per", "B-per", "E-per", "B-loc", "E-loc", "S-loc"}
    for example in examples:
        assert task.decode(task.encode(example).target.tolist()) == example.tags
    assert task.primary_metric == "entity_f1"
    other = Tag(scheme=scheme)
    other.restore(json.loads(json.dumps(task.state())))
    assert other.primary_metric == "entity_f1" and other.signature().target.forbidden
    assert other.signature().target.forbidden == task.signature().target.forbidden


def test_no_pair_of_training_is_barred_even_where_tags_are_broken():
    """A chain gives what is barred no chance at all, so a broken file must be mended first."""
    broken = [*BIO, Tagged(["in", "Rome"], ["O", "I-loc"], 19)]
    for scheme in ("as-is", "bioes"):
        task = prepared(broken, scheme=scheme)
        target = task.signature().target
        for example in broken:
            numbers = task.encode(example).target.tolist()
            around = [target.size, *numbers, target.size]
            assert not target.forbidden & set(zip(around, around[1:], strict=False))
            tags = [task.tags.labels[n] for n in numbers]
            assert entities(tags) == entities(example.tags)
    told = task.notes()
    assert told[0] == "the tags mark entities by BIO (IOB2), learned as BIOES"
    assert told[1] == (
        'the tag scheme is broken in 1 place: line 19, "Rome": I-loc after O: read as the beginning'
        " of a new loc"
    )


def test_tags_without_a_scheme_are_judged_by_accuracy():
    task = prepared([Tagged(["a", "b"], ["D", "N"], 1)])
    assert task.primary_metric == "accuracy" and task.signature().target == Labels(2)
    assert task.signature().target.forbidden == frozenset() and task.notes() == []
    judged = task.score(Tagged(["a", "b"], ["D", "N"]), ["D", "D"], 1.0)
    assert list(judged) == ["accuracy", "sentence_accuracy", "loss"]
    with pytest.raises(DataError, match="D127"):
        prepared([Tagged(["a", "b"], ["D", "N"], 1)], scheme="bioes")


def test_entities_are_judged_as_a_whole():
    task = prepared(BIO)
    judged = task.score(BIO[0], ["B-per", "O", "O", "B-per", "O"], 0.5)
    assert judged["entity_f1"] == (1, 2, 2) and judged["accuracy"] == (4, 5)
    assert value_of("entity_f1", [judged["entity_f1"]]) == 0.5
    found = task.label_decisions(BIO[0], ["B-per", "O", "O", "B-per", "O"])
    pairs = [(one.right, one.guessed) for one in found.decisions]
    assert pairs == [("per", "per"), ("per", "O"), ("O", "O"), ("per", "per"), ("O", "O")]


def test_unknown_tags_are_told_as_the_file_has_them():
    """Another scheme of the same kinds is no stranger; another kind is, by the name it has."""
    task = prepared(BIO, scheme="bioes")
    assert task.unknown_labels(IOB1) == {}
    strange = Tagged(["in", "Acme", "Inc"], ["O", "B-org", "I-org"], 25)
    assert task.unknown_labels([strange]) == {"B-org": [25], "I-org": [25]}


def test_offsets_are_those_of_the_users_own_string():
    task = prepared(BIO)
    text = "  Ada  Lovelace,\tmet New York."
    question = task.question(text)
    assert question.words == ["Ada", "Lovelace", ",", "met", "New", "York", "."]
    answer = ["B-per", "I-per", "O", "O", "B-loc", "I-loc", "O"]
    chances = np.full((7, len(task.tags.labels)), 0.01)
    for place, tag in enumerate(answer):
        chances[place, task.tags.labels.index(tag)] = 0.9 - place / 100
    found = task.details(question, answer, chances)
    assert found["spans"] == [
        {"text": "Ada  Lovelace", "label": "per", "start": 2, "end": 15, "p": pytest.approx(0.89)},
        {"text": "New York", "label": "loc", "start": 21, "end": 29, "p": pytest.approx(0.85)},
    ]
    for span in found["spans"]:
        assert text[span["start"] : span["end"]] == span["text"]
    assert [text[a:b] for a, b in found["places"]] == found["words"] == question.words
    assert found["p"] == pytest.approx([0.9 - n / 100 for n in range(7)])
    marked = task.highlighted(question, answer)
    assert "".join(piece for piece, _ in marked.pieces) == text


def test_confidence_where_the_model_learned_another_scheme():
    """The chance is that of the label the model gave: S-per is shown as B-per."""
    task = prepared(BIO, scheme="bioes")
    chances = np.zeros((1, len(task.tags.labels)))
    chances[0, task.tags.labels.index("S-per")] = 0.7
    chances[0, task.tags.labels.index("B-per")] = 0.2
    assert task.details(task.question("Ada"), ["B-per"], chances)["p"] == [0.7]


# --- features


FEATURED = "Ada NNP B-per\nsees VB O\n\nRome NNP B-loc\nis VB O\n"


def test_features_stand_beside_words(tmp_path):
    task = Tag(min_frequency=1, features=("pos",))
    path = written(tmp_path, FEATURED)
    with pytest.raises(UsageError) as caught:
        task.read(path, Data())
    assert 'which column is "pos"' in caught.value.problem
    assert caught.value.help == ("--columns word=NUMBER,pos=NUMBER,tag=NUMBER",)
    examples = task.read(path, Data(columns="word=1,pos=2,tag=3"))
    assert task.read(path, Data(columns="pos=2")) == examples
    task.prepare(examples)
    words, letters, pos = task.signature().source.parts
    assert isinstance(letters, Letters) and (words, pos) == (Tokens(8), Tokens(6))
    source = task.encode(examples[0]).source
    assert source.shape == (2, 1 + letters.length + 1)
    strange = examples[0]._replace(features=(["NNP", "never"],))
    assert task.encode(strange).source[:, -1].tolist() == [source[0, -1], 3]  # unknown
    with pytest.raises(DataError, match="D126") as missing:
        task.question("Ada sees")
    assert 'reads "pos" beside every word' in missing.value.problem


@pytest.mark.parametrize("features", [("pos", "pos"), ("word",), ("tag", "pos")])
def test_features_have_names_of_their_own(features):
    with pytest.raises(UsageError, match="U090"):
        Tag(features=features)


def test_features_help_a_model_that_needs_them(tmp_path):
    """The tag is the feature: a word says nothing. Trained, saved, and asked by a file."""
    chance = np.random.default_rng(0)
    rows = [[("w", kind, f"T{kind}") for kind in chance.choice(["a", "b"], 6)] for _ in range(40)]
    text = "\n\n".join("\n".join(" ".join(word) for word in row) for row in rows)
    path = written(tmp_path, text)
    recipe = Recipe(
        data={"train": str(path), "columns": "word=1,kind=2,tag=3"},
        task={"name": "tag", "features": "kind"},
        model={"name": "recurrent", "embedding_size": 20, "hidden_size": 8, "feature_width": 4},
        training={"epochs": 12, "batch_size": 8, "learning_rate": 0.05},
    )
    run = seqloom.train(recipe, runs=tmp_path / "runs")
    assert run.evaluate(str(path)).values()["accuracy"] == 1.0
    sheet = run.task.inputs(written(tmp_path, "w a\nw b\n", "q.conll"), run.recipe.build_data())
    (example,) = sheet.examples
    assert example.features == (["a", "b"],)
    assert list(sheet.write([tagged("Ta", "Tb")])) == ["w a Ta", "w b Tb"]


def tagged(*tags: str, sure: list[float] | None = None) -> JoinedPrediction:
    return JoinedPrediction(" ".join(tags), list(tags), sure)


# --- what is odd


def test_swapped_columns_are_refused_unless_the_user_says_so(tmp_path):
    path = written(tmp_path, "B-per Ada\nO sees\n\nO is\nB-loc Rome\n")
    with pytest.raises(DataError, match="D124") as caught:
        Tag().read(path, Data())
    assert "look swapped: 3 kinds of words, 4 kinds of tags" in caught.value.problem
    assert len(Tag().read(path, Data(columns="1,2"))) == 2
    many = "\n\n".join("\n".join(f"N{n % 3} word{5 * s + n}" for n in range(5)) for s in range(30))
    with pytest.raises(DataError, match="D124"):
        Tag().read(written(tmp_path, many, "b.conll"), Data())
    letters = "\n\n".join(
        "\n".join(f"{'ACGT'[n % 4]} {n % 7}" for n in range(9)) for _ in range(30)
    )
    assert Tag().read(written(tmp_path, letters, "dna.conll"), Data())


def test_check_tells_the_scheme_and_where_it_is_broken(tmp_path):
    text = "# a comment\nAda\tB-per\nsees\tO\nRome\tI-loc\n\nAda\tb-per\n"
    report = check(written(tmp_path, text, "a.conll"), None, Data(), {})
    told = {finding.code: finding for finding in report.findings}
    assert "D128" not in told, "b-per is no tag of a scheme"
    assert told["D072"].text.startswith(
        "labels that differ only by case or space: 'B-per', 'b-per'"
    )
    report = check(written(tmp_path, text.replace("b-per", "B-per")), None, Data(), {})
    told = {finding.code: finding for finding in report.findings}
    assert told["D128"].level == "note" and told["D128"].text.endswith("BIO (IOB2)")
    assert told["D125"].level == "warning" and told["D125"].lines == [4]
    assert 'line 4, "Rome": I-loc after O: read as' in told["D125"].text
    assert not report.has_problems


def test_check_knows_every_format(tmp_path):
    spans = '{"text": "Ada sees", "spans": [[0, 3, "per"]]}\n'
    words = '{"words": ["Ada", "sees"], "tags": ["B-per", "O"]}\n'
    for name, text in (("a.jsonl", spans), ("b.jsonl", words)):
        report = check(written(tmp_path, text, name), None, Data(), {})
        assert (report.task, report.format) == ("tag", "jsonl")
        assert report.labels == {"B-per": 1, "O": 1} and report.parts[0].longest == 2
    labelled = '{"text": "a", "label": "x"}\n{"text": "b", "label": "x"}\n'
    assert check(written(tmp_path, labelled, "c.jsonl"), None, Data(), {}).task == "classify"
    swapped = check(written(tmp_path, "B-per Ada\nO sees\n"), None, Data(), {})
    assert swapped.has_problems and swapped.findings[0].code == "D124"


def test_tags_that_differ_by_case_are_told_in_training():
    task = prepared([Tagged(["a", "b"], ["N", "n"], 1)])
    assert task.notes() == ["tags that differ only by case or space: 'N', 'n'"]


def test_files_are_filled_in_line_by_line(tmp_path):
    """Comments, blank lines, ranges and other columns stay as they are."""
    lines = ["# sent = 1", "1-2\tdu" + "\t_" * 8, "1\tde\tde" + "\t_" * 7]
    lines += ["2\tle\tle\tX" + "\t_" * 6, "", "# end"]
    path = written(tmp_path, "\n".join(lines) + "\n", "a.conllu")
    sheet = Tag().inputs(path, Data())
    assert [(one.words, one.tags) for one in sheet.examples] == [(["de", "le"], [])]
    filled = list(sheet.write([tagged("ADP", "DET")]))
    assert filled[2].split("\t")[3] == "ADP" and filled[3].split("\t")[3] == "DET"
    assert [filled[n] for n in (0, 1, 4, 5)] == [lines[n] for n in (0, 1, 4, 5)]
    assert Tag().inputs(written(tmp_path, "Ada\n", "a.txt"), Data()) is None
    json_lines = written(tmp_path, '{"id": 1, "text": "so, so"}\n', "a.jsonl")
    sheet = Tag().inputs(json_lines, Data())
    assert json.loads(*sheet.write([tagged("B-x", "I-x", "O")])) == {
        "id": 1, "text": "so, so", "spans": [{"start": 0, "end": 3, "label": "x"}]
    }  # fmt: skip


def test_probabilities_stand_beside_the_tags(tmp_path):
    """In a last column, in MISC of CoNLL-U, and in JSON; a span is as sure as its least word."""
    sheet = Tag().inputs(written(tmp_path, "Ada _\nsees _\n\nso _\n", "a.conll"), Data())
    two = [tagged("X", "Y", sure=[0.5, 0.25]), None]
    assert list(sheet.write(two)) == ["Ada X 0.5", "sees Y 0.25", "", "so _"]
    line = "1\tAda\tAda" + "\t_" * 6 + "\t{}\n"
    for misc, filled in (("_", "p=0.5"), ("SpaceAfter=No", "SpaceAfter=No|p=0.5")):
        sheet = Tag().inputs(written(tmp_path, line.format(misc), "a.conllu"), Data())
        (found,) = sheet.write([tagged("X", sure=[0.5])])
        assert found.split("\t")[3] == "X" and found.split("\t")[9] == filled
    text = '{"text": "so so"}\n{"words": ["a", "b"]}\n'
    sheet = Tag().inputs(written(tmp_path, text, "a.jsonl"), Data())
    answers = [tagged("B-x", "I-x", sure=[0.5, 0.25]), tagged("O", "O", sure=[1.0, 0.5])]
    spans, words = map(json.loads, sheet.write(answers))
    assert spans["spans"] == [{"start": 0, "end": 5, "label": "x", "probability": 0.25}]
    assert words == {"words": ["a", "b"], "tags": ["O", "O"], "probability": [1.0, 0.5]}


def test_columns_are_known_again_by_their_tags(tmp_path):
    """A file whose name does not say it; a text in which nothing ends with a tag is lines."""
    task = prepared([Tagged(["Ada", "left"], ["B-per", "O"], 1)], scheme="bioes")
    sheet = task.inputs(written(tmp_path, "Ada B-per\nsaw O\n", "test.txt"), Data())
    assert sheet.format == "columns" and sheet.guess == "its lines end with tags"
    assert task.inputs(written(tmp_path, "Ada left\nAda saw\n", "test.txt"), Data()) is None
    sheet = task.inputs(written(tmp_path, '{"words": ["Ada"]}\n', "test.txt"), Data())
    assert sheet.format == "jsonl"


def test_words_of_texts_are_cut_at_use_as_they_were_in_training(tmp_path):
    text = '{"text": "Ada, so - e-mail.", "spans": [[0, 3, "per"]]}\n'
    task = Tag()
    examples = task.read(written(tmp_path, text * 3, "a.jsonl"), Data())
    task.prepare(examples)
    assert task.question("Ada, so - e-mail.").words == examples[0].words
    assert examples[0].words == ["Ada", ",", "so", "-", "e-mail", "."]
    assert not violations(examples[0].tags, "bio")


def test_options_are_explained():
    assert {option.name for option in options(Tag)} >= {"scheme", "tokenize", "features"}
    assert isinstance(Tag().signature().source, Columns)
