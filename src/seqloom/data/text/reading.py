"""Reading of text files: encodings, line ends, gzip, and lazy access to the lines of large files.

A file that is not text is refused with the reason, and if possible with its likely encoding.
"""

import codecs
import io
import os
import re
import weakref
from collections.abc import Iterable, Iterator
from encodings.aliases import aliases
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Int

from ...errors import DataError, MachineError, Place, UsageError, nearest
from ..loading.lazy import LazySequence
from .files import GZIP, open_bytes, read_bytes, unpacked

CHUNK_BYTES = 1 << 22  # that are read at once
MAX_GAPS = 4  # lines that are read for each that is asked for
BLOCK_BYTES = 1 << 19  # of lines that are read at once
LINE_FEED, CARRIAGE_RETURN = 10, 13
# Encodings in which a line feed is one byte, and that byte nothing else: lines are split as bytes.
BYTE_NEWLINE_ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "cp1252"}


class IndexedLines:
    """A file on disk with an index of its lines: 8 bytes of memory for each."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.path, self.encoding = path, encoding
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)
        has_mark = os.pread(self._file, len(codecs.BOM_UTF8), 0) == codecs.BOM_UTF8
        self._first = len(codecs.BOM_UTF8) if has_mark and encoding.startswith("utf-8") else 0
        self._line_end = _line_end(os.pread(self._file, CHUNK_BYTES, 0))
        self.ends = np.concatenate([[self._first - 1], *self._ends()])

    def lines(self) -> LazySequence[str]:
        """The lines without line ends, each read on access."""
        return LazySequence(self.line, np.arange(len(self.ends) - 1), make_block=self.block)

    def block(self, numbers: Int[np.ndarray, " lines"]) -> Iterable[str]:
        """The lines with these numbers; those that lie close together are read at once."""
        if len(numbers) <= 1 or (np.diff(numbers) <= 0).any():
            return map(self.line, numbers.tolist())
        first, span = int(numbers[0]), int(numbers[-1] - numbers[0]) + 1
        if span > MAX_GAPS * len(numbers):
            return map(self.line, numbers.tolist())
        start, end = int(self.ends[numbers[0]]) + 1, int(self.ends[numbers[-1] + 1])
        if end - start > BLOCK_BYTES:
            middle = len(numbers) // 2
            return chain.from_iterable(map(self.block, (numbers[:middle], numbers[middle:])))
        read = os.pread(self._file, end - start, start)
        if len(read) < end - start:  # a single line says where
            return map(self.line, numbers.tolist())
        lines = read.decode(self.encoding, "replace").split(chr(self._line_end))
        if span > len(numbers):
            lines = [lines[number - first] for number in numbers.tolist()]
        return (line.removesuffix("\r") for line in lines) if b"\r" in read else lines

    def line(self, number: int) -> str:
        """The line with this number, from 0."""
        start, end = int(self.ends[number]) + 1, int(self.ends[number + 1])
        read = os.pread(self._file, end - start, start)
        if len(read) < end - start:
            raise DataError(
                "D027",
                f'"{self.path.name}" became shorter while it was read',
                place=Place(str(self.path), number + 1),
                help=["train again, and leave the file as it is until training ends"],
            )
        return read.decode(self.encoding, "replace").removesuffix("\r")

    def _ends(self) -> Iterator[Int[np.ndarray, " lines"]]:
        """The positions of the line ends, chunk by chunk; the last line may end with the file."""
        size = os.fstat(self._file).st_size
        start, last = self._first, -1
        while start < size:
            chunk = os.pread(self._file, CHUNK_BYTES, start)
            found = np.flatnonzero(np.frombuffer(chunk, np.uint8) == self._line_end) + start
            if len(found):
                last = int(found[-1])
                yield found
            start += len(chunk)
        if last != size - 1:
            yield np.array([size])


def read_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file in chunks."""
    with open_bytes(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _line_end(chunk: bytes) -> int:
    """The byte that ends lines: a line feed, or a carriage return where there is none of them."""
    return CARRIAGE_RETURN if b"\r" in chunk and b"\n" not in chunk else LINE_FEED


# Python has these as text encodings, but text files are not written in them.
_NOT_FOR_FILES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SPOKEN = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-32": "UTF-32",
    "ascii": "ASCII",
    "cp1252": "Windows-1252",
    "iso8859-1": "Latin-1",
}
_NOT_TEXT = {
    GZIP: "a gzip archive: unpack it first, with  gunzip",
    b"PK\x03\x04": "a zip archive or a spreadsheet: unpack it, or save the sheet as CSV",
    b"\x28\xb5\x2f\xfd": "a zstd archive: unpack it first, with  unzstd",
    b"BZh": "a bzip2 archive: unpack it first, with  bunzip2",
    b"\xfd7zXZ\x00": "an xz archive: unpack it first, with  unxz",
    b"%PDF-": "a PDF document: export its text first",
}
LARGE_FILE = 1 << 24  # bytes; larger texts are not loaded into memory
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def read_text(path: Path, encoding: str, *, unpack: bool = False) -> str:
    """The text of a file without byte order mark; an error if it is blank.

    With `unpack`, it may be compressed by gzip.
    """
    name = _codec_name(encoding)
    data = read_bytes(path)
    if unpack and data.startswith(GZIP):
        data = unpacked(path, data)
    if not data:
        raise DataError("D021", f'"{path.name}" is empty (0 bytes)', place=Place(str(path)))
    _refuse_archives(path, data)
    text = _decode(path, data, name).removeprefix("\ufeff")
    found = invalid_character(text)
    if found is not None:
        raise _binary(path, data, text, found)
    if not text.strip():
        raise DataError("D022", f'"{path.name}" has only blank lines', place=Place(str(path)))
    return text


def read_lines(path: Path, encoding: str, *, unpack: bool = False) -> list[str]:
    """The lines of a file, split at line feeds only: other line breaks are part of the text.

    A file without any is split at carriage returns, as old programs of Macs wrote them.
    """
    text = read_text(path, encoding, unpack=unpack)
    lines = text.split("\n" if "\n" in text else "\r")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def lazy_lines(path: Path, encoding: str) -> LazySequence[str] | None:
    """The lines of a file that is too large for memory, each read on access.

    None if the file is not that large, or if its encoding does not allow it.
    """
    name = _codec_name(encoding)
    if name not in BYTE_NEWLINE_ENCODINGS or not path.is_file() or path.stat().st_size < LARGE_FILE:
        return None
    _refuse_archives(path, read_bytes(path, limit=8))
    lines, is_blank = 0, True
    decoder = codecs.getincrementaldecoder(name)()
    for chunk in read_chunks(path):
        try:
            text = decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise _wrong_byte(path, name, lines + chunk[: error.start].count(b"\n") + 1) from None
        found = invalid_character(text)
        if found is not None:
            place = Place(str(path), lines + text.count("\n", 0, found) + 1)
            raise DataError("D031", f'"{path.name}" holds a NUL character', place=place)
        lines += text.count("\n")
        is_blank = is_blank and not text.strip()
    if is_blank:
        raise DataError("D022", f'"{path.name}" has only blank lines', place=Place(str(path)))
    return IndexedLines(path, name).lines()


def _wrong_byte(path: Path, encoding: str, line: int) -> DataError:
    return DataError(
        "D030",
        f'"{path.name}" is not {_SPOKEN.get(encoding, encoding)}',
        place=Place(str(path), line),
        help=["--encoding NAME   if you know how the file was saved"],
    )


def iterate_lines(path: Path) -> Iterator[str]:
    """Iterate over the lines of a UTF-8 file that may be larger than memory."""
    try:
        with io.TextIOWrapper(open_bytes(path), encoding="utf-8", newline="\n") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise DataError(
            "D030", f'"{path.name}" is not UTF-8 ({error.reason})', place=Place(str(path))
        ) from None
    except OSError as error:
        raise MachineError("E320", f'cannot read "{path}" ({error.strerror})') from None


def encoding_name(encoding: str) -> str:
    """The usual name of an encoding, such as UTF-8."""
    name = _codec_name(encoding)
    return _SPOKEN.get(name, name)


def invalid_character(text: str) -> int | None:
    """The position of the first character that text cannot have: NUL or a lone surrogate."""
    found = _UNWRITABLE.search(text)
    return found.start() if found else None


def _codec_name(encoding: str) -> str:
    """Python's canonical name of an encoding."""
    try:
        found = codecs.lookup(encoding)
        usable = found._is_text_encoding and found.name not in _NOT_FOR_FILES
    except (LookupError, ValueError):
        usable = False
    if not usable:
        names = {name.replace("_", "-") for name in aliases.values()}
        near = nearest(encoding.lower(), {*names, *_SPOKEN})
        hints = [f"did you mean --encoding {near}?"] if near else []
        raise UsageError(
            "U010",
            f"encoding = {encoding!r}: there is no such encoding",
            help=[*hints, "common ones are utf-8, utf-16, cp1252, latin-1"],
        )
    return found.name.replace("_", "-")


def _refuse_archives(path: Path, data: bytes) -> None:
    """Refuse archives and documents, by their first bytes: their encoding is not the problem."""
    for mark, what in _NOT_TEXT.items():
        if data.startswith(mark):
            kind, _, remedy = what.partition(": ")
            place = Place(str(path))
            raise DataError(
                "D031", f'"{path.name}" is {kind}, not text', place=place, help=[remedy]
            )


def _decode(path: Path, data: bytes, encoding: str) -> str:
    """Decode bytes, or raise an error with the wrong byte and the likely encoding."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        # Some codecs remove the byte order mark before they count, so start may be past the end.
        start = min(error.start, len(data) - 1)
    except (UnicodeError, ValueError):
        start = 0
    line = data[:start].decode(encoding, "ignore").count("\n") + 1
    notes = [f"byte {start + 1:,} is 0x{data[start]:02X}"]
    help = ["--encoding NAME   if you know how the file was saved"]
    guess = _guess(data, encoding)
    if guess is not None:
        sample = _sample(data, start, guess)
        notes.append(f'It reads well as {_SPOKEN.get(guess, guess)}: "{sample}"')
        help = [f"--encoding {guess}"]
    raise DataError(
        "D030",
        f'"{path.name}" is not {_SPOKEN.get(encoding, encoding)}',
        place=Place(str(path), line),
        notes=notes,
        help=help,
    )


def _binary(path: Path, data: bytes, text: str, found: int) -> DataError:
    """An error for characters of binary files, or of UTF-16 that was read as another encoding."""
    begin = text.rfind("\n", 0, found) + 1
    end = text.find("\n", found)
    shown = text[begin : end if end >= 0 else len(text)]
    what = "a NUL character" if text[found] == "\0" else "half a character (a lone surrogate)"
    notes, help = ["It looks like a binary file."], ["give a plain text file"]
    guess = _guess_two_bytes(data)
    if guess is not None:
        notes = [f'It reads well as {guess}: "{_sample(data, 0, guess)}"']
        help = [f"--encoding {guess}"]
    mark = (found - begin, found - begin + 1)
    line = text.count("\n", 0, found) + 1
    place = Place(str(path), line, shown, mark, what)
    return DataError("D031", f'"{path.name}" holds {what}', place=place, notes=notes, help=help)


def _guess(data: bytes, refused: str) -> str | None:
    """The likely encoding of bytes; None if there is no clear one."""
    for mark, name in _MARKS.items():
        if data.startswith(mark) and name != refused and _reads(data, name) is not None:
            return name
    if refused != "utf-8" and _reads(data, "utf-8") is not None:
        return "utf-8"
    for name in ("cp1252", "latin-1"):
        text = _reads(data, name)
        if name != refused and text is not None and _is_western(text):
            return name
    return None


def _guess_two_bytes(data: bytes) -> str | None:
    """UTF-16 without byte order mark: Western text has a NUL in every second byte."""
    for name, zeros in (("utf-16-le", data[1::2]), ("utf-16-be", data[::2])):
        if zeros.count(0) > 0.7 * len(zeros) and _reads(data, name) is not None:
            return name
    return None


def _reads(data: bytes, encoding: str) -> str | None:
    """The decoded text, if the encoding is possible and there are no control characters."""
    try:
        text = data.decode(encoding)
    except ValueError:
        return None
    return None if _CONTROLS.search(text) else text


def _is_western(text: str) -> bool:
    """Whether accents are as rare as in Western languages: any bytes decode as Latin-1."""
    letters = sum(character.isalpha() for character in text)
    strange = sum(not character.isascii() for character in text)
    return 0 < strange < 0.4 * max(letters, 1)


def _sample(data: bytes, start: int, encoding: str) -> str:
    """A few words around a byte, decoded with another encoding."""
    text = data.decode(encoding).removeprefix("\ufeff")
    middle = len(data[:start].decode(encoding, "ignore"))
    begin = text.rfind("\n", 0, middle) + 1
    line = text[begin:].split("\n")[0].rstrip("\r")
    first = max(0, middle - begin - 20)
    cut = line[first : first + 40]
    dots = "…" if len(line) > first + 40 else ""
    return ("…" if first else "") + cut.replace("\t", "⇥") + dots
