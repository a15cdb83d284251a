"""Reading text files: encodings, line ends, and an error for every file that is not text."""

from pathlib import Path

import pytest

from seqloom.data.text.reading import read_lines, read_text
from seqloom.errors import DataError, SeqloomError, UsageError


def written(folder: Path, data: bytes, name: str = "notes.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def refused(path: Path, encoding: str = "utf-8") -> SeqloomError:
    with pytest.raises(SeqloomError) as caught:
        read_lines(path, encoding)
    return caught.value


def test_lines_are_split_at_line_feeds_only(tmp_path):
    text = "a\x85b\u2028c\u2029d\x0be\x0cf\x1cg\rh\ni"
    path = written(tmp_path, text.encode())
    assert read_lines(path, "utf-8") == [text[:-2], "i"]


def test_the_latin_1_byte_0x85_does_not_split_a_line(tmp_path):
    assert read_lines(written(tmp_path, b"a\x85b\nc"), "latin-1") == ["a\x85b", "c"]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_the_last_line_feed_ends_a_line_and_begins_none(tmp_path, end):
    assert read_lines(written(tmp_path, b"a\nb" + end), "utf-8") == ["a", "b"]


def test_blank_lines_are_kept(tmp_path):
    assert read_lines(written(tmp_path, b"\na\n\nb\n\n"), "utf-8") == ["", "a", "", "b", ""]


def test_windows_line_ends_lose_one_carriage_return(tmp_path):
    assert read_lines(written(tmp_path, b"a\r\nb\r\r\nc\r"), "utf-8") == ["a", "b\r", "c"]


@pytest.mark.parametrize("end", [b"", b"\r"])
def test_carriage_returns_end_lines_where_nothing_else_does(tmp_path, end):
    assert read_lines(written(tmp_path, b"a\rb\r\rc" + end), "utf-8") == ["a", "b", "", "c"]


def test_a_byte_order_mark_is_dropped(tmp_path):
    path = written(tmp_path, b"\xef\xbb\xbftext\n")
    assert read_text(path, "utf-8") == "text\n"
    assert read_text(path, "utf-8-sig") == "text\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp1252", "latin-1", "UTF8"])
def test_other_encodings_are_read_when_asked_for(tmp_path, encoding):
    path = written(tmp_path, "le café\nest fermé\n".encode(encoding))
    assert read_lines(path, encoding) == ["le café", "est fermé"]


def test_a_missing_file_gets_the_nearest_name(tmp_path):
    written(tmp_path, b"a", "reviews.csv")
    error = refused(tmp_path / "revews.csv")
    assert isinstance(error, DataError) and error.code == "D001" and error.exit_code == 3
    assert error.problem == f'cannot find "{tmp_path / "revews.csv"}"'
    assert error.notes == ('There is "reviews.csv" in the same folder.',)
    assert error.help == (f"did you mean {tmp_path / 'reviews.csv'}?",)


@pytest.mark.parametrize("name", ["far/away/file.txt", "nul\0byte", "x" * 5000])
def test_a_name_that_leads_nowhere_is_a_missing_file(tmp_path, name):
    assert refused(tmp_path / name).code == "D001"


def test_a_folder_is_not_a_file(tmp_path):
    written(tmp_path, b"a", "inside.txt")
    error = refused(tmp_path)
    assert error.code == "D001"
    assert error.problem == f'"{tmp_path}" is a folder, not a file'
    assert error.help == (f"name a file in it, such as {tmp_path / 'inside.txt'}",)


def test_an_empty_file(tmp_path):
    error = refused(written(tmp_path, b""))
    assert (error.code, error.problem) == ("D021", '"notes.txt" is empty (0 bytes)')


@pytest.mark.parametrize("data", [b"\n\n", b" \r\n\t\n", b"\xef\xbb\xbf"])
def test_a_file_of_blank_lines(tmp_path, data):
    error = refused(written(tmp_path, data))
    assert (error.code, error.problem) == ("D022", '"notes.txt" has only blank lines')


def test_a_wrong_encoding_names_the_byte_and_the_guess(tmp_path):
    path = written(tmp_path, b"the first line\nle caf\xe9 est ferm\xe9\n")
    error = refused(path)
    assert error.text() == "\n".join(
        [
            'error[D030]: "notes.txt" is not UTF-8',
            f"  --> {path}:2",
            "  byte 22 is 0xE9",
            '  It reads well as Windows-1252: "le café est fermé"',
            "  help: --encoding cp1252",
        ]
    )
    assert "\N{REPLACEMENT CHARACTER}" not in error.text()
    assert read_lines(path, "cp1252")[1] == "le café est fermé"


def test_only_a_few_words_around_the_byte_are_shown(tmp_path):
    error = refused(written(tmp_path, b"word " * 50 + b"caf\xe9 " + b"word " * 50))
    assert error.notes[1] == (
        'It reads well as Windows-1252: "…d word word word café word word word wor…"'
    )


def test_utf_16_is_guessed_by_its_mark(tmp_path):
    error = refused(written(tmp_path, "le café".encode("utf-16")))
    assert error.code == "D030"
    assert error.notes == ("byte 1 is 0xFF", 'It reads well as UTF-16: "le café"')
    assert error.help == ("--encoding utf-16",)


def test_utf_16_without_a_mark_is_guessed_by_its_zeros(tmp_path):
    error = refused(written(tmp_path, "plain words".encode("utf-16-le")))
    assert error.code == "D031"
    assert error.help == ("--encoding utf-16-le",)


def test_utf_8_read_as_ascii_is_guessed(tmp_path):
    error = refused(written(tmp_path, "le café".encode()), "ascii")
    assert error.problem == '"notes.txt" is not ASCII'
    assert error.help == ("--encoding utf-8",)


def test_bytes_that_make_no_sense_get_no_guess(tmp_path):
    error = refused(written(tmp_path, bytes(range(128, 256))))
    assert error.code == "D030"
    assert error.help == ("--encoding NAME   if you know how the file was saved",)


def test_a_nul_character_is_shown_in_its_place(tmp_path):
    path = written(tmp_path, b"fine\nnot\0fine\n")
    error = refused(path)
    assert error.text() == "\n".join(
        [
            'error[D031]: "notes.txt" holds a NUL character',
            f"  --> {path}:2",
            "  2 | not␀fine",
            "    |    ^ a NUL character",
            "  It looks like a binary file.",
            "  help: give a plain text file",
        ]
    )


def test_archives_are_told_by_their_first_bytes(tmp_path):
    error = refused(written(tmp_path, b"\x1f\x8b\x08\x00rest", "data.jsonl.gz"))
    assert (error.code, error.problem) == ("D031", '"data.jsonl.gz" is a gzip archive, not text')


@pytest.mark.parametrize(
    "name", ["utf9", "hex", "rot13", "unicode_escape", "idna", "undefined", "", "nul\0byte", "ü"]
)
def test_an_unknown_encoding_is_a_usage_error(tmp_path, name):
    error = refused(written(tmp_path, b"\\x"), name)
    assert isinstance(error, UsageError) and error.code == "U010" and error.exit_code == 2
    assert error.problem == f"encoding = {name!r}: there is no such encoding"


def test_an_unknown_encoding_gets_the_nearest_name(tmp_path):
    error = refused(written(tmp_path, b"a"), "cp1525")
    assert error.help[0].startswith("did you mean --encoding cp125")
