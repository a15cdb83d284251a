"""From bytes to characters and lines, with a useful sentence for every file that is not text.

The lines of a text that stays on the disk.
"""

import codecs
import gzip
import os
import re
import weakref
import zlib
from collections.abc import Iterator
from encodings.aliases import aliases
from pathlib import Path

import numpy as np
from jaxtyping import Int

from ...errors import DataError, MachineError, Place, UsageError, nearest
from ..loading.lazy import Lazy

PIECE = 1 << 22  # bytes that are looked at together
LINE_FEED = 10
# A line feed in these is one byte, and that byte is nothing else.
PLAIN = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "cp1252"}


class LinesOnDisk:
    """A file that is open for reading, and where each of its lines begins."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.path, self.encoding = path, encoding
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)
        marked = os.pread(self._file, len(codecs.BOM_UTF8), 0) == codecs.BOM_UTF8
        self._first = len(codecs.BOM_UTF8) if marked and encoding.startswith("utf-8") else 0
        self.ends = np.concatenate([[self._first - 1], *self._ends()])

    def lines(self) -> Lazy[str]:
        """The lines without their ends, each read when it is asked for."""
        return Lazy(self.line, np.arange(len(self.ends) - 1))

    def line(self, number: int) -> str:
        """One of them."""
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
        """Where lines end, piece by piece; the last may end with the file."""
        size = os.fstat(self._file).st_size
        start, last = self._first, -1
        while start < size:
            piece = os.pread(self._file, PIECE, start)
            found = np.flatnonzero(np.frombuffer(piece, np.uint8) == LINE_FEED) + start
            if len(found):
                last = int(found[-1])
                yield found
            start += len(piece)
        if last != size - 1:
            yield np.array([size])


def pieces_of_text(path: Path) -> Iterator[bytes]:
    """The bytes of a file, some at a time."""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


# Python counts these as text encodings, but no file of sentences is written in them.
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
_GZIP = b"\x1f\x8b"
_NOT_TEXT = {
    _GZIP: "a gzip archive: unpack it first, with  gunzip",
    b"PK\x03\x04": "a zip archive or a spreadsheet: unpack it, or save the sheet as CSV",
    b"\x28\xb5\x2f\xfd": "a zstd archive: unpack it first, with  unzstd",
    b"BZh": "a bzip2 archive: unpack it first, with  bunzip2",
    b"\xfd7zXZ\x00": "an xz archive: unpack it first, with  unxz",
    b"%PDF-": "a PDF document: export its text first",
}
LARGE = 1 << 28  # bytes from which on a text stays on the disk
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def read_text(path: Path, encoding: str, *, unpack: bool = False) -> str:
    """All characters of a file, without a byte order mark; at least one is not blank.

    With `unpack`, it may be packed with gzip.
    """
    name = _codec_name(encoding)
    data = read_bytes(path)
    if unpack and data.startswith(_GZIP):
        data = _unpacked(path, data)
    if not data:
        raise DataError("D021", f'"{path.name}" is empty (0 bytes)', place=Place(str(path)))
    _refuse_archives(path, data)
    text = _decode(path, data, name).removeprefix("\ufeff")
    found = unwritable(text)
    if found is not None:
        raise _binary(path, data, text, found)
    if not text.strip():
        raise DataError("D022", f'"{path.name}" has only blank lines', place=Place(str(path)))
    return text


def read_lines(path: Path, encoding: str, *, unpack: bool = False) -> list[str]:
    """The lines of a file, split at line feeds only: other breaks are part of the user's text."""
    pieces = read_text(path, encoding, unpack=unpack).split("\n")
    if not pieces[-1]:
        pieces.pop()
    return [piece.removesuffix("\r") for piece in pieces]


def large_lines(path: Path, encoding: str) -> Lazy[str] | None:
    """The lines of a text that is too large to be held, each read when it is asked for.

    None where it is not that large, or where lines cannot be told without reading all of it.
    """
    name = _codec_name(encoding)
    if name not in PLAIN or not path.is_file() or path.stat().st_size < LARGE:
        return None
    _refuse_archives(path, read_bytes(path, most=8))
    lines, is_blank = 0, True
    decoder = codecs.getincrementaldecoder(name)()
    for piece in pieces_of_text(path):
        try:
            text = decoder.decode(piece)
        except UnicodeDecodeError as error:
            raise _wrong_byte(path, name, lines + piece[: error.start].count(b"\n") + 1) from None
        found = unwritable(text)
        if found is not None:
            place = Place(str(path), lines + text.count("\n", 0, found) + 1)
            raise DataError("D031", f'"{path.name}" holds a NUL character', place=place)
        lines += text.count("\n")
        is_blank = is_blank and not text.strip()
    if is_blank:
        raise DataError("D022", f'"{path.name}" has only blank lines', place=Place(str(path)))
    return LinesOnDisk(path, name).lines()


def _wrong_byte(path: Path, encoding: str, line: int) -> DataError:
    return DataError(
        "D030",
        f'"{path.name}" is not {_SPOKEN.get(encoding, encoding)}',
        place=Place(str(path), line),
        help=["--encoding NAME   if you know how the file was saved"],
    )


def open_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file one by one, for files that may be larger than memory."""
    if not path.is_file():
        read_bytes(path)  # says what is wrong
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise DataError(
            "D030", f'"{path.name}" is not UTF-8 ({error.reason})', place=Place(str(path))
        ) from None
    except OSError as error:
        raise MachineError("E320", f'cannot read "{path}" ({error.strerror})') from None


def spoken(encoding: str) -> str:
    """The name of an encoding as people write it."""
    name = _codec_name(encoding)
    return _SPOKEN.get(name, name)


def unwritable(text: str) -> int | None:
    """The place of the first character no text file can hold: NUL or half a surrogate pair."""
    found = _UNWRITABLE.search(text)
    return found.start() if found else None


def _codec_name(encoding: str) -> str:
    """Python's one name for an encoding."""
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


def read_bytes(path: Path, most: int = -1) -> bytes:
    """The bytes of a file that may not exist; not many more than `most` of them, if it is given."""
    try:
        with path.open("rb") as file:
            return file.read(most + 1 if most >= 0 else -1)
    except IsADirectoryError:
        raise DataError(
            "D001",
            f'"{path}" is a folder, not a file',
            help=[f"name a file in it, such as {inside}" for inside in _first_file(path)],
        ) from None
    except PermissionError:
        raise MachineError("E320", f'cannot read "{path}" (permission denied)') from None
    except (OSError, ValueError):
        near = nearest(path.name, _names_beside(path))
        notes = [f'There is "{near}" in the same folder.'] if near else []
        help = [f"did you mean {path.with_name(near)}?"] if near else ["check the name of the file"]
        raise DataError("D001", f'cannot find "{path}"', notes=notes, help=help) from None


def _names_beside(path: Path) -> list[str]:
    """The files in the folder where a file was expected."""
    try:
        return [other.name for other in path.parent.iterdir() if other.is_file()]
    except (OSError, ValueError):
        return []


def _first_file(folder: Path) -> list[Path]:
    """The first file in a folder, if there is one."""
    return sorted(folder / name for name in _names_beside(folder / "any"))[:1]


def _unpacked(path: Path, data: bytes) -> bytes:
    """What is in a gzip archive."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        raise DataError(
            "D031",
            f'"{path.name}" is a gzip archive that is damaged or not whole',
            place=Place(str(path)),
            help=["download or pack it again"],
        ) from None


def _refuse_archives(path: Path, data: bytes) -> None:
    """Tell packed files by their first bytes: what they hold is no mistake of encoding."""
    for mark, what in _NOT_TEXT.items():
        if data.startswith(mark):
            kind, _, remedy = what.partition(": ")
            place = Place(str(path))
            raise DataError(
                "D031", f'"{path.name}" is {kind}, not text', place=place, help=[remedy]
            )


def _decode(path: Path, data: bytes, encoding: str) -> str:
    """Bytes as characters, or an error that names the byte and guesses the right encoding."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        # Some codecs cut the mark off before they count, so the place may lie past the end.
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
    """An error for characters that show the file is not text, or text of two-byte units."""
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
    """The encoding in which the bytes make sense, if one is plain."""
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
    """Text of two-byte units without a mark has a NUL in every second byte."""
    for name, zeros in (("utf-16-le", data[1::2]), ("utf-16-be", data[::2])):
        if zeros.count(0) > 0.7 * len(zeros) and _reads(data, name) is not None:
            return name
    return None


def _reads(data: bytes, encoding: str) -> str | None:
    """The characters, if the bytes can be read so and hold no controls."""
    try:
        text = data.decode(encoding)
    except ValueError:
        return None
    return None if _CONTROLS.search(text) else text


def _is_western(text: str) -> bool:
    """Whether accents are as rare as in Western languages: any bytes make some Western text."""
    letters = sum(character.isalpha() for character in text)
    strange = sum(not character.isascii() for character in text)
    return 0 < strange < 0.4 * max(letters, 1)


def _sample(data: bytes, start: int, encoding: str) -> str:
    """A few words around a byte, read in another encoding."""
    text = data.decode(encoding).removeprefix("\ufeff")
    middle = len(data[:start].decode(encoding, "ignore"))
    begin = text.rfind("\n", 0, middle) + 1
    line = text[begin:].split("\n")[0].rstrip("\r")
    first = max(0, middle - begin - 20)
    cut = line[first : first + 40]
    dots = "…" if len(line) > first + 40 else ""
    return ("…" if first else "") + cut.replace("\t", "⇥") + dots
