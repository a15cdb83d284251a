"""Tagged sentences from CoNLL, CoNLL-U and JSON lines, and an error for each bad one."""

import json
from pathlib import Path

import pytest

from seqloom.data.formats import Sentence, read_sentences
from seqloom.data.options import Data
from seqloom.errors import SeqloomError

TAGGED = ("word", "tag")


def written(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def refused(path: Path, roles: tuple[str, ...], **settings) -> SeqloomError:
    with pytest.raises(SeqloomError) as caught:
        read_sentences(path, roles, Data(**settings))
    return caught.value


# --- CoNLL columns


def test_sentences_of_words_and_tags(tmp_path):
    text = "-DOCSTART- -X- O\n\nthe DT O\ncat  NN\tB-X\n\n\n# about this\nruns VB O\n# # O\n"
    source = read_sentences(written(tmp_path, text, "a.conll"), TAGGED, Data())
    assert source.rows == [
        Sentence(3, (["the", "cat"], ["O", "B-X"])),
        Sentence(8, (["runs", "#"], ["O", "O"])),
    ]
    assert (source.format, source.blank) == ("columns", [])


def test_a_word_may_begin_with_a_hash(tmp_path):
    path = written(tmp_path, "#tag\tO\n#\tO\n# x = y\nend\tO\n", "a.bio")
    assert read_sentences(path, TAGGED, Data()).rows == [
        Sentence(1, (["#tag", "#", "end"], ["O", "O", "O"]))
    ]


def test_words_may_hold_the_other_blanks_of_unicode(tmp_path):
    path = written(tmp_path, "a\u00a0b X\nc\u2028d Y\n", "a.conll")
    assert read_sentences(path, TAGGED, Data()).rows[0].fields[0] == ["a\u00a0b", "c\u2028d"]


def test_conll_u(tmp_path):
    def line(*start: str) -> str:
        return "\t".join([*start, *["_"] * (10 - len(start))])

    lines = [
        "# sent_id = 1",
        line("1-2", "du"),
        line("1", "de", "de", "ADP"),
        line("2", "le", "le", "DET"),
        line("2.1", "ghost", "ghost", "X"),
        line("3", "chat noir", "chat", "NOUN", "N"),
    ]
    path = written(tmp_path, "\n".join(lines), "a.conllu")
    words = ["de", "le", "chat noir"]
    assert read_sentences(path, TAGGED, Data()).rows == [
        Sentence(3, (words, ["ADP", "DET", "NOUN"]))
    ]
    other = read_sentences(path, TAGGED, Data(columns="2,5"))
    assert other.rows[0].fields == (words, ["_", "_", "N"])


def test_a_line_with_a_column_missing(tmp_path):
    path = written(tmp_path, "the DT\ncat\n\nit PRP\nruns VB\n", "a.conll")
    error = refused(path, TAGGED)
    assert (error.code, error.problem) == ("D011", "row has 1 field, expected 2")
    assert str(error.place) == f"{path}:2"
    left = read_sentences(path, TAGGED, Data(skip_bad=True))
    assert left.rows == [Sentence(4, (["it", "runs"], ["PRP", "VB"]))]
    assert left.bad == [(2, "D011: row has 1 field, expected 2")]


def test_words_without_tags(tmp_path):
    assert refused(written(tmp_path, "the\ncat\n", "a.conll"), TAGGED).code == "D011"


def test_columns_have_numbers_not_names(tmp_path):
    error = refused(written(tmp_path, "a b\n", "a.conll"), TAGGED, columns="word=form,tag=2")
    assert (error.code, error.help) == ("U010", ("--columns word=NUMBER,tag=NUMBER",))


def universal(*start: str) -> str:
    return "\t".join([*start, *["_"] * (10 - len(start))])


def test_columns_of_conll_u_have_names(tmp_path):
    """As the standard calls them, in any case; what is not said is the form and its upos."""
    lines = [universal("1", "cats", "cat", "NOUN", "NNS", "Number=Plur", "0", "root")]
    path = written(tmp_path, "\n".join(lines), "a.conllu")
    for columns, tag in (("tag=xpos", "NNS"), ("tag=feats", "Number=Plur"), ("tag=DEPREL", "root")):
        assert read_sentences(path, TAGGED, Data(columns=columns)).rows[0].fields[1] == [tag]
    assert read_sentences(path, TAGGED, Data(columns="lemma,upos")).rows[0].fields[0] == ["cat"]
    three = read_sentences(path, ("word", "xpos", "tag"), Data())
    assert three.rows[0].fields == (["cats"], ["NNS"], ["NOUN"])
    error = refused(path, TAGGED, columns="tag=xpso")
    assert error.code == "U010" and error.help == ("did you mean 'xpos'?",)


def test_columns_of_conll_u_plus_say_their_names(tmp_path):
    text = "# global.columns = ID FORM UPOS SOME:NER\n1\tAda\tPROPN\tB-X\n1.1\tghost\tX\tO\n"
    path = written(tmp_path, text, "a.conllup")
    found = read_sentences(path, TAGGED, Data(columns="tag=ner"))
    assert found.rows == [Sentence(2, (["Ada"], ["B-X"]))]


def test_a_line_of_conll_u_with_a_column_too_few(tmp_path):
    lines = [universal("1", "a", "a", "X"), universal("2", "b", "b", "X")[:-2], universal("3", "c")]
    error = refused(written(tmp_path, "\n".join(lines), "a.conllu"), TAGGED)
    assert (error.code, error.problem) == ("D011", "row has 9 fields, expected 10")
    assert error.place.line == 2


@pytest.mark.parametrize("text, name", [
    (universal("1", "a") + "\n" + universal("2", "b"), "a.conllu"),
    ("a\t_\nb\t_\n\nc\tX\n", "a.conll"),
    ('{"words": ["a", "b"]}', "a.jsonl"),
    ('{"text": "a b", "spans": null}', "a.jsonl"),
])  # fmt: skip
def test_sentences_without_tags(tmp_path, text, name):
    error = refused(written(tmp_path, text, name), TAGGED)
    assert error.code == "D120" and "this sentence has no tags" in error.problem
    assert error.place.line == 1


def test_no_features_at_all_are_tags_too(tmp_path):
    path = written(tmp_path, universal("1", "a"), "a.conllu")
    assert read_sentences(path, TAGGED, Data(columns="tag=feats")).rows[0].fields[1] == ["_"]


# --- JSON lines of sentences


def test_words_and_tags_as_json(tmp_path):
    lines = ['{"words": ["a", "b"], "tags": ["X", "Y"]}', "", '{"tokens": ["c"], "ner_tags": [3]}']
    source = read_sentences(written(tmp_path, "\n".join(lines), "a.jsonl"), TAGGED, Data())
    assert source.rows == [Sentence(1, (["a", "b"], ["X", "Y"])), Sentence(3, (["c"], ["3"]))]
    assert (source.format, source.blank) == ("jsonl", [2])


def test_texts_and_spans_as_json(tmp_path):
    """A word is cut where a span begins or ends in it, so that no span is lost."""
    spans = [{"start": 0, "end": 12, "label": "per"}, [13, 17, "loc"]]
    line = json.dumps({"text": "Ada Lovelace Rome-based", "spans": spans})
    (row,) = read_sentences(written(tmp_path, line, "a.jsonl"), TAGGED, Data()).rows
    assert row.fields == (["Ada", "Lovelace", "Rome", "-based"], ["B-per", "I-per", "B-loc", "O"])
    assert [row.text[start:end] for start, end in row.word_spans] == row.fields[0]


def test_keys_of_json_by_the_users_names(tmp_path):
    path = written(tmp_path, '{"w": ["a"], "t": ["X"], "pos": ["N"]}', "a.jsonl")
    found = read_sentences(path, ("word", "pos", "tag"), Data(columns="word=w,tag=t"))
    assert found.rows[0].fields == (["a"], ["N"], ["X"])


@pytest.mark.parametrize("item, code, told", [
    ({"words": ["a"], "tags": ["X", "Y"]}, "D121", '1 words, but 2 in "tags"'),
    ({"words": ["a", ""], "tags": ["X", "Y"]}, "D014", '"words" is empty, or one'),
    ({"words": ["a", 1.5, None], "tags": ["X"]}, "D013", "a list of texts"),
    ({"words": [], "tags": []}, "D014", '"words" is empty'),
    ({"name": 1}, "D010", 'no key "words"'),
    ({"text": "Ada", "spans": [[0, 4, "X"]]}, "D122", "0–4 X lies outside the text, which has 3"),
    ({"text": "Ada", "spans": [[-1, 2, "X"]]}, "D122", "lies outside"),
    ({"text": "Ada", "spans": [[2, 2, "X"]]}, "D122", "2–2 X is empty"),
    ({"text": "a  b", "spans": [[1, 3, "X"]]}, "D122", "has whitespace only"),
    ({"text": "Ada", "spans": [[0, 2]]}, "D122", "a start, an end and a label"),
    ({"text": "Ada", "spans": [{"start": 0, "end": 2}]}, "D122", "a start, an end and a label"),
    ({"text": "Ada", "spans": ["X"]}, "D122", "a start, an end and a label"),
    ({"text": "Ada", "spans": {"start": 0}}, "D122", "must be a list"),
    ({"text": "Ada B", "spans": [[0, 4, "X"], [3, 5, "Y"]]}, "D123", "0–4 X and 3–5 Y"),
    ({"text": " ", "spans": []}, "D014", "empty"),
])  # fmt: skip
def test_what_is_wrong_with_a_sentence_of_json(tmp_path, item, code, told):
    path = written(tmp_path, "\n" + json.dumps(item), "a.jsonl")
    error = refused(path, TAGGED)
    assert error.code == code and told in error.problem and error.place.line == 2
    good = written(tmp_path, '{"words": ["a"], "tags": ["X"]}\n' + json.dumps(item), "b.jsonl")
    left = read_sentences(good, TAGGED, Data(skip_bad=True))
    assert len(left.rows) == 1 and left.bad[0][0] == 2
