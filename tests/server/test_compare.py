"""Comparisons through the web API: the same as on the command line."""

from seqloom.experiments.compare import compare
from seqloom.runs.run import load

from .conftest import client

PATH = "/api/v1/compare"


def test_a_comparison_is_that_of_the_command_line(web, trained):
    told = web.post(PATH, json={"runs": ["counts", "writer"]})
    assert told.status_code == 200
    expected = compare([load(trained / "counts"), load(trained / "writer")], None, 500).as_dict()
    found = told.json()
    assert found["verdict"] == expected["verdict"] and found["n"] == expected["n"]
    assert [row["metrics"] for row in found["runs"]] == [row["metrics"] for row in expected["runs"]]
    assert found["differences"]["model.name"] == ["ngram", "recurrent"]
    assert set(found["where"]) == set(expected["where"])
    assert [row["id"] for row in found["cost"]] == ["counts", "writer"]
    assert all(row["bytes"] > 0 and row["milliseconds_per_example"] > 0 for row in found["cost"])
    few = web.post(PATH, json={"runs": ["counts", "writer"], "limit": 3}).json()
    assert few["n"] == 3


def test_what_cannot_be_compared(web):
    for body, status, code in (
        ({"runs": ["counts"]}, 422, "S242"),
        ({"runs": ["counts", "nobody"]}, 404, "U008"),
        ({"runs": ["counts", "tagger"]}, 422, "M116"),
        ({"runs": ["counts", "writer"], "limit": 0}, 422, "S242"),
    ):
        answer = web.post(PATH, json=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_one_input_through_several_runs(web):
    told = web.post(f"{PATH}:inputs", json={"runs": ["counts", "writer"], "text": "the cat"})
    rows = told.json()["runs"]
    assert [row["run"] for row in rows] == ["counts", "writer"]
    for row in rows:
        assert row["error"] is None and row["output"]["input"] == "the cat"
        assert row["surprise"]["view"] == "surprise" and row["next"]["view"] == "next"
    mixed = web.post(f"{PATH}:inputs", json={"runs": ["counts", "ahead"], "text": "the cat"})
    good, bad = mixed.json()["runs"]
    assert good["error"] is None and bad["error"]["code"], "one that cannot leaves the others alone"


def test_a_run_without_weights_cannot_be_compared(runs):
    (runs / "writer" / "weights.safetensors").unlink()
    with client(runs) as web:
        answer = web.post(PATH, json={"runs": ["counts", "writer"]})
        assert answer.status_code == 409 and answer.json()["code"] == "S262"
