"""Bytes of files: what is read, what is refused, and how much of it."""

import gzip
import os
from pathlib import Path
from threading import Thread

import pytest

from seqloom.cli.inputs import read_lines as input_lines
from seqloom.cli.main import main
from seqloom.data.options import Data
from seqloom.data.text import files
from seqloom.data.text.files import open_bytes, read_bytes, unpacked
from seqloom.data.text.reading import iterate_lines, lazy_lines, read_lines
from seqloom.errors import SeqloomError
from seqloom.recipe import Recipe
from seqloom.runs.check import check


def refused(read, code: str) -> str:
    with pytest.raises(SeqloomError) as caught:
        read()
    assert caught.value.code == code
    return caught.value.text()


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/full", "fifo"])
def test_devices_and_fifos_are_refused_by_whatever_reads(tmp_path, name):
    """Each of these would read for ever, or wait for ever."""
    path = tmp_path / name
    if name == "fifo":
        os.mkfifo(path)
    for read in (
        lambda: read_bytes(path),
        lambda: read_lines(path, "utf-8"),
        lambda: next(iterate_lines(path)),
        lambda: Recipe.read(path),
    ):
        assert "not a file" in refused(read, "D036")
    assert lazy_lines(path, "utf-8") is None
    for task in (None, "classify", "forecast", "music", "language"):
        (finding,) = check(path, task, Data(), {}).findings
        assert (finding.level, finding.code) == ("problem", "D036")
    assert main(["train", "language", str(path), "--runs-dir", str(tmp_path / "runs")]) == 3


def test_inputs_come_from_fifos_line_by_line_but_not_from_devices(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    writer = Thread(target=lambda: (tmp_path / "fifo").write_text("one\ntwo\n"))
    writer.start()
    assert [*input_lines(str(tmp_path / "fifo"), "utf-8")] == ["one", "two"]
    writer.join()
    refused(lambda: next(input_lines("/dev/zero", "utf-8")), "D036")


def test_a_line_of_inputs_that_never_ends_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("seqloom.cli.inputs.MAX_LINE", 10)
    (tmp_path / "a").write_text(f"short\n{'x' * 10}\n")
    with pytest.raises(SeqloomError, match="a:2"):
        [*input_lines(str(tmp_path / "a"), "utf-8")]
    (tmp_path / "a").write_text(f"short\n{'x' * 9}\n")
    assert [*input_lines(str(tmp_path / "a"), "utf-8")] == ["short", "x" * 9]


@pytest.fixture
def piped():
    """A pipe as the shell passes it: its name, with the content written."""
    opened = []

    def make(content: bytes) -> Path:
        reading, writing = os.pipe()
        opened.append(reading)
        os.write(writing, content)
        os.close(writing)
        return Path(f"/dev/fd/{reading}")

    yield make
    for one in opened:
        os.close(one)


def test_a_pipe_is_read_as_often_as_a_file(piped, tmp_path):
    """`check` reads a file several times; the second pass over a pipe found nothing."""
    content = "".join(f"a text of {n}\t{'good' if n % 2 else 'bad'}\n" for n in range(40))
    path = piped(content.encode())
    (tmp_path / "same.tsv").write_text(content)
    told, same = (check(one, None, Data(), {}) for one in (path, tmp_path / "same.tsv"))
    assert (told.task, told.counts, told.labels) == (same.task, same.counts, same.labels)
    assert open_bytes(path).read() == content.encode()


def test_a_pipe_has_a_limit(piped, monkeypatch):
    monkeypatch.setattr(files, "MAX_PIPE_BYTES", 10)
    assert read_bytes(piped(b"x" * 10)) == b"x" * 10
    assert "more than 10 bytes" in refused(lambda: read_bytes(piped(b"x" * 11)), "D046")


def test_all_members_of_a_gzip_archive_count(tmp_path, monkeypatch):
    members = [b"date,a\n", b"2020-01-01,1\n", b"2020-01-02,2\n"]
    packed, size = b"".join(map(gzip.compress, members)), sum(map(len, members))
    assert unpacked(Path("a.gz"), packed) == b"".join(members)
    assert unpacked(Path("a.gz"), packed, size) == b"".join(members)
    refused(lambda: unpacked(Path("a.gz"), packed, size - 1), "D046")
    refused(lambda: unpacked(Path("a.gz"), packed[:-9]), "D031")
    (tmp_path / "a.csv.gz").write_bytes(packed)
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", size - 1)
    (finding,) = check(tmp_path / "a.csv.gz", None, Data(), {}).findings
    assert finding.code == "D046" and "gunzip" in finding.text
