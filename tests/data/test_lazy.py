"""Large texts that stay on disk: the same lines, splits and counts, with little memory."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from seqloom import Recipe, train
from seqloom.batch import Item
from seqloom.data.loading.bptt import one_stream
from seqloom.data.loading.lazy import LazySequence, lazy_map, select
from seqloom.data.loading.splitting import exclude, split, split_in_order
from seqloom.data.text import reading
from seqloom.data.text import reading as on_disk
from seqloom.data.text.reading import lazy_lines, read_lines
from seqloom.errors import DataError


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(reading, "LARGE_FILE", 0)
    monkeypatch.setattr(on_disk, "CHUNK_BYTES", 7)


ODD = [
    "one\ntwo\n\nthree",
    "one\ntwo\n",
    "a\r\nb\r\n",
    "a\rb\r\rc",
    "a\rb\r",
    "\n\nx\n\n",
    "äöü €\n\u2028 b\n",
    "\ufeffmark\nx",
]


@pytest.mark.parametrize("content", ODD)
def test_lines_are_those_of_a_text_that_is_held(tmp_path, content):
    path = tmp_path / "text.txt"
    path.write_text(content, encoding="utf-8", newline="")
    assert list(lazy_lines(path, "utf-8")) == read_lines(path, "utf-8")


def test_other_encodings(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("Größe\nx\x85y\n".encode("latin-1"))
    assert list(lazy_lines(path, "latin-1")) == ["Größe", "x\x85y"]
    path.write_bytes("Größe\n".encode("utf-16"))
    assert lazy_lines(path, "utf-16") is None  # a line feed is two bytes there


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [(b"fine\nbad \xff\n", "D030", 2), (b"a\nb\nc\0d\n", "D031", 3), (b" \n\n", "D022", None)],
)
def test_what_is_no_text_is_named_with_its_line(tmp_path, content, code, line):
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        lazy_lines(path, "utf-8")
    assert caught.value.code == code
    assert caught.value.place.line == line


def test_a_file_that_is_cut_meanwhile(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("one\ntwo\nthree\n")
    lines = lazy_lines(path, "utf-8")
    path.write_text("one\n")
    assert lines[0] == "one"
    with pytest.raises(DataError, match="became shorter") as caught:
        lines[2]
    assert caught.value.code == "D027"


def test_lazy_items_are_made_when_they_are_asked_for():
    made = []
    lazy = LazySequence(lambda place: made.append(place) or place, np.arange(100))
    squares = lazy_map(lambda number: number * number, select(lazy, np.array([3, 5, 8])))
    assert made == []
    assert squares[1] == 25
    assert made == [5]
    assert list(squares[1:]) == [25, 64]
    assert list(squares.replace(0, "x").map(str)) == ["x", "25", "64"]


def lazy_of(items):
    return LazySequence(items.__getitem__, np.arange(len(items)))


def test_parts_of_lines_never_share_one():
    chance = random.Random(1)
    lines = [str(chance.randrange(300)) for _ in range(2000)]
    valid, test, rest = split(lazy_of(lines), [0.1, 0.2], seed=3, key=str)
    kinds = len(set(lines))
    assert (len(set(valid)), len(set(test))) == (round(0.1 * kinds), round(0.2 * kinds))
    assert not set(valid) & set(test) | set(rest) & {*valid, *test}
    assert sorted([*valid, *test, *rest]) == sorted(lines)
    again = split(lazy_of(lines[::-1]), [0.1, 0.2], seed=3, key=str)
    assert set(again[0]) == set(valid)  # the order of the file is nothing
    assert set(split(lazy_of(lines), [0.1, 0.2], seed=4, key=str)[0]) != set(valid)
    assert list(exclude(lazy_of(lines), valid, str)) == [x for x in lines if x not in set(valid)]


def test_a_stream_is_cut_at_the_same_places():
    lines = ["abcdef", "gh", "ijklmnop", "q"]
    ways = (lambda x: len(x)), (lambda x, place: (x[:place], x[place:]))
    held = split_in_order(lines, [0.3, 0.25], *ways)
    assert [list(part) for part in split_in_order(lazy_of(lines), [0.3, 0.25], *ways)] == held


@pytest.mark.parametrize("length", [1, 2, 3, 7, 100])
def test_windows_of_one_stream_hold_every_symbol_once(length):
    chance = np.random.default_rng(length)
    items = [Item(ids, ids) for ids in (chance.integers(4, 9, n) for n in (3, 0, 11, 1, 5))]
    text = np.concatenate([item.target for item in items])
    windows = list(one_stream(iter(items), length))
    assert np.concatenate([w.target.values[0] for w in windows]).tolist() == text.tolist()
    read = np.concatenate([w.source.values[0] for w in windows])
    assert read.tolist() == [1, *text[:-1].tolist()]
    assert all(w.target.lengths[0] == length for w in windows[:-1])


@pytest.mark.parametrize("layout", ["lines", "stream"])
def test_counts_are_those_of_a_text_that_is_held(tmp_path, monkeypatch, layout):
    chance = random.Random(2)
    path, valid = tmp_path / "text.txt", tmp_path / "valid.txt"
    for file, count in ((path, 60), (valid, 5)):
        file.write_text(
            "".join(f"{' '.join(chance.choices('abcd', k=6))}\n\n" for _ in range(count))
        )
    recipe = Recipe(
        data={"train": str(path), "valid": str(valid), "test": str(valid)},
        task={"name": "language", "tokens": "words", "layout": layout},
        model={"name": "ngram", "order": 3},
    )
    large = train(recipe, name="large", runs=tmp_path / "runs").model.weights()
    monkeypatch.setattr(reading, "LARGE_FILE", 1 << 40)
    held = train(recipe, name="held", runs=tmp_path / "runs").model.weights()
    assert large.keys() == held.keys()
    assert all(np.array_equal(large[name], held[name]) for name in held)


COUNT = """
import sys
from seqloom import Recipe, train
from seqloom.data.text import reading
reading.LARGE_FILE = int(sys.argv[3])
recipe = Recipe(
    data={"train": sys.argv[1], "valid": sys.argv[2], "test": sys.argv[2]},
    task={"name": "language", "tokens": "words"},
    model={"name": "ngram", "order": 2, "memory": 16},
)
train(recipe, name="n" + sys.argv[3], runs=sys.argv[4])
(most,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(most.split()[1])
"""


def test_memory_does_not_grow_with_the_text(tmp_path: Path):
    chance = random.Random(3)
    train_file, valid = tmp_path / "text.txt", tmp_path / "valid.txt"
    lines = [" ".join(chance.choices("abcdefgh", k=300)) for _ in range(100)]
    train_file.write_text("\n".join(lines * 60) + "\n")  # 3.6 MB, 1.8 million words
    valid.write_text("a b c\n")

    def taken(limit):
        files = [str(train_file), str(valid), str(limit), str(tmp_path / "runs")]
        told = subprocess.run(
            [sys.executable, "-c", COUNT, *files], capture_output=True, text=True, check=True
        )
        return int(told.stdout) * 1024

    held, on_the_disk = taken(1 << 40), taken(0)
    assert held - on_the_disk > 3 * train_file.stat().st_size


@pytest.mark.parametrize("block_bytes", [1, 6, 1 << 19])
@pytest.mark.parametrize("text", [*ODD, "é\r\nü\r\n\r\nx", "a\rb\rc", "x" * 50 + "\ny\n" * 9])
def test_lines_read_in_blocks_are_those_read_one_by_one(tmp_path, monkeypatch, text, block_bytes):
    monkeypatch.setattr(reading, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr("seqloom.data.loading.lazy.BLOCK", 3)
    (tmp_path / "a.txt").write_bytes(text.encode())
    lines = lazy_lines(tmp_path / "a.txt", "utf-8")
    one_by_one = [lines[number] for number in range(len(lines))]
    assert [*lines] == one_by_one == read_lines(tmp_path / "a.txt", "utf-8")
    assert [*lines[1:]] == one_by_one[1:] and [*lines[::-2]] == one_by_one[::-2]
    assert [*lines.map(len)] == [*map(len, one_by_one)]
    assert [*lines.map(len).replace(0, -1)] == [-1, *map(len, one_by_one[1:])]
    some = np.random.default_rng(0).permutation(len(lines))
    assert [*lines.select(some)] == [one_by_one[number] for number in some]
    for kept in ([0, 2], [0, 1, 3], [1, 2], [0, len(lines) - 1], [len(lines) - 1], [0, 0, 1]):
        within = np.array([number for number in kept if number < len(lines)])
        assert [*lines.select(within)] == [one_by_one[number] for number in within]
