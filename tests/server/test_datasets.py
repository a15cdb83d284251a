"""Data sets: uploads, file names, and the report of `seqloom check`."""

import json

import pytest

from seqloom.data.options import Data
from seqloom.runs.check import check

from .conftest import client

DATA = "/api/v1/datasets"
BYTES = {"Content-Type": "application/octet-stream"}


@pytest.fixture
def studio(tmp_path):
    with client(tmp_path / "runs") as web:
        web.runs = tmp_path / "runs"
        yield web


def give(web, content: bytes, name: str) -> str:
    answer = web.post(f"{DATA}?name={name}", content=content, headers=BYTES)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def test_a_file_is_kept_as_it_came(studio, files):
    content = (files / "pairs.tsv").read_bytes()
    name = give(studio, content, "pairs.tsv")
    assert (studio.runs / ".studio" / "data" / name / "pairs.tsv").read_bytes() == content
    (row,) = studio.get(DATA).json()["datasets"]
    assert row["id"] == name and row["name"] == "pairs.tsv" and row["bytes"] == len(content)
    assert studio.delete(f"{DATA}/{name}").status_code == 204
    assert studio.get(f"{DATA}/{name}/report").json()["code"] == "S250"
    assert studio.delete(f"{DATA}/{name}").status_code == 404


def test_a_text_can_be_pasted(studio):
    answer = studio.post(DATA, json={"text": "one\ntwo", "name": "a.txt"})
    assert answer.status_code == 201
    path = studio.runs / ".studio" / "data" / answer.json()["id"] / "a.txt"
    assert path.read_text() == "one\ntwo\n"
    for body in ({"name": "a.txt"}, {"text": 5}, {"text": "a", "more": 1}, []):
        wrong = studio.post(DATA, json=body)
        assert (
            wrong.status_code == 422 and wrong.json()["code"] == "S242" and wrong.json()["errors"]
        )


@pytest.mark.parametrize(
    "name",
    ["", "../a.txt", "..", ".hidden", "a/b.txt", "a%5Cb.txt", "%00.txt", "a%0Ab", "meta.json"]
    + ["%2e%2e%2fetc%2fpasswd", "C:a.txt", "x" * 300, "%20a.txt", "a%7Fb"],
)
def test_a_name_is_never_a_path(studio, name):
    answer = studio.post(f"{DATA}?name={name}", content=b"words\n", headers=BYTES)
    assert answer.status_code == 422 and answer.json()["code"] == "S251"
    assert not [*studio.runs.rglob("*a.txt")] and not [*studio.runs.parent.glob("a.txt")]


def test_the_report_is_that_of_the_command_line(studio, files):
    for file in ("pairs.tsv", "labels.csv", "tags.conll", "text.txt", "series.csv"):
        name = give(studio, (files / file).read_bytes(), file)
        told = studio.get(f"{DATA}/{name}/report").json()
        path = studio.runs / ".studio" / "data" / name / file
        expected = json.loads(json.dumps(check(path, None, Data(), {}).as_dict()))
        assert told["report"] == {**expected, "path": file}
        assert told["ok"] and told["reason"] is None
        assert told["next"]["task"] == expected["task"] == told["tasks"][0]
        assert 0 < len(told["rows"]) <= 20 and all(row["symbols"] for row in told["rows"])
        for role, buckets in told["lengths"].items():
            assert role in told["rows"][0]["symbols"] and sum(one["n"] for one in buckets) > 0


def test_a_problem_closes_the_way_and_says_why(studio):
    name = give(studio, b"the cat\tle chat\na dog\tun chien\tein Hund\nbird\toiseau\n", "p.tsv")
    told = studio.get(f"{DATA}/{name}/report?task=translate").json()
    assert not told["ok"] and "3 fields" in told["reason"]
    assert told["remedy"] == {"skip_bad": True}
    (problem,) = [one for one in told["report"]["findings"] if one["level"] == "problem"]
    assert problem["code"] == "D011" and problem["lines"] == [2]
    mended = studio.get(f"{DATA}/{name}/report?task=translate&skip_bad=true").json()
    assert mended["ok"] and mended["next"]["settings"]["data.skip_bad"] is True


def test_another_encoding_is_suggested_and_works(studio):
    text = "le café est fermé\nune journée à la plage\n" * 20
    name = give(studio, text.encode("cp1252"), "notes.txt")
    told = studio.get(f"{DATA}/{name}/report").json()
    assert not told["ok"] and told["remedy"] == {"encoding": "cp1252"}
    mended = studio.get(f"{DATA}/{name}/report?encoding=cp1252").json()
    assert mended["ok"] and mended["next"]["settings"] == {"data.encoding": "cp1252"}


@pytest.mark.parametrize(
    ("query", "code"),
    [("task=nothing", "U002"), ("task=algorithms", "U012"), ("format=pdf", "U010")],
)
def test_what_cannot_be_asked_of_a_file(studio, query, code):
    name = give(studio, b"words and words\n", "a.txt")
    answer = studio.get(f"{DATA}/{name}/report?{query}")
    assert answer.status_code == 422 and answer.json()["code"] == code


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\x00\x01\x02", b"PK\x03\x04zip", b"\x80\x04pickle", b"\xff\xfe"]
)
def test_junk_is_a_problem_and_no_bug(studio, content):
    name = give(studio, content, "junk.bin")
    told = studio.get(f"{DATA}/{name}/report")
    assert told.status_code == 200 and not told.json()["ok"] and told.json()["reason"]
