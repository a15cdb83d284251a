"""Fuzzing of the file formats: no bytes raise anything but SeqloomError."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.data.formats import FORMATS, read_rows, read_sentences
from seqloom.data.options import Data
from seqloom.errors import SeqloomError
from seqloom.runs.check import check
from seqloom.tasks import TASKS

VALID = [
    b'text,label\nfine,good\n"so, so",bad\n',
    b'{"text": "fine", "label": "good"}\n{"text": [1, {"a": "\\ud800"}], "label": 1e5}\n',
    b"the cat\tle chat\r\na dog\tun chien\tein Hund\r\n",
    b"# sent_id = 1\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t_\t_\t_\t_\n\n",
    b"-DOCSTART- -X- O\n\nthe DT O\ncat NN B-X\n\n# note\nruns VB O\n",
    b"\xef\xbb\xbfplain words\nand more\n",
    "le café\u2028est\x85fermé\tx\n".encode("utf-16"),
]
NAMES = ["a.txt", "a.tsv", "a.csv", "a.jsonl", "a.conllu", "a"]
COLUMNS = ["", "1,2", "2,1", "text=label,label=text", "9,1", "source=text,target=label", "=", ","]
ENCODINGS = ["utf-8", "utf-16", "cp1252", "latin-1", "utf-7", "utf-32", "shift_jis", "no-such"]
MARKS = [
    b"\0",
    b"\n",
    b"\r",
    b"\t",
    b'"',
    b",",
    b"{",
    b"[" * 3000,
    b"#",
    b"\x85",
    b"\xff\xfe",
    b"\\u",
]

texts = st.text(st.sampled_from('ab \t\n\r",;|{}[]:#-.1\0\x85\u2028\ufeff\u00e9=\\'), max_size=80)


@st.composite
def mutated(draw: Callable) -> bytes:
    """A valid file with a few bytes cut out and others put in."""
    data = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 8)))
        data = data[:start] + draw(st.sampled_from(MARKS) | st.binary(max_size=4)) + data[end:]
    return data


files = (
    st.binary(max_size=200)
    | texts.map(str.encode)
    | st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))
    | mutated()
)
asked = st.builds(
    Data,
    format=st.sampled_from(["auto", "text", "tsv", "csv", "jsonl", "columns"]),
    encoding=st.sampled_from(["utf-8"] * 8 + ENCODINGS),
    columns=st.sampled_from([""] * 6 + COLUMNS),
    skip_bad=st.booleans(),
    max_length=st.sampled_from([0, 3, 1000]),
)


def with_file(data: bytes, name: str, use: Callable[[Path], object]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        use(path)


@pytest.mark.parametrize("task", [task for task in sorted(TASKS) if TASKS[task].roles])
@settings(max_examples=100, deadline=None)
@given(data=files, name=st.sampled_from(NAMES), asked=asked, more=st.booleans())
def test_readers_raise_only_their_own_error(task, data, name, asked, more):
    def read(path: Path) -> None:
        with suppress(SeqloomError):
            read_rows(path, TASKS[task].roles, asked, extra_fields=more)
        with suppress(SeqloomError):
            read_sentences(path, TASKS[task].roles, asked)

    with_file(data, name, read)


@pytest.mark.parametrize("name", sorted(FORMATS))
@settings(max_examples=60, deadline=None)
@given(data=texts.map(str.encode) | mutated(), skip_bad=st.booleans())
def test_what_is_read_has_a_field_for_each_role(name, data, skip_bad):
    roles = ("text",) if name == "text" else ("text", "label")

    def read(path: Path) -> None:
        with suppress(SeqloomError):
            source = read_rows(path, roles, Data(format=name, skip_bad=skip_bad))
            assert source.rows and (skip_bad or not source.bad)
            lines = [row.line for row in source.rows]
            assert lines == sorted(set(lines)) and not set(lines) & set(source.blank)
            for row in source.rows:
                assert len(row.fields) == len(roles)
                assert all(field.strip() for field in row.fields)

    with_file(data, "a", read)


@settings(max_examples=150, deadline=None)
@given(
    data=files,
    name=st.sampled_from(NAMES),
    task=st.none() | st.sampled_from(sorted(TASKS)),
    asked=asked,
)
def test_check_raises_nothing(data, name, task, asked):
    def look(path: Path) -> None:
        report = check(path, task, asked, {})
        assert report.as_dict()["path"] == str(path)
        assert report.has_problems or report.counts
        assert report.has_problems or report.next.startswith("seqloom train")

    with_file(data, name, look)
