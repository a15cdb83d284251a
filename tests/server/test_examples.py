"""Built-in examples through the web API: data, recipes, and measured times."""

from seqloom.examples import EXAMPLES

from .conftest import client

PATH = "/api/v1/examples"


def test_every_example_can_be_chosen_and_its_recipes_are_right(tmp_path, monkeypatch):
    monkeypatch.delenv("SEQLOOM_DATA", raising=False)
    with client(tmp_path / "runs") as web:
        found = web.get(PATH).json()["examples"]
        assert [one["name"] for one in found] == list(EXAMPLES)
        assert all(one["seconds"] is None and one["sentence"] for one in found)
        for one in found:
            chosen = web.post(f"{PATH}/{one['name']}", json={})
            assert chosen.status_code == 201
            told = chosen.json()
            assert (told["dataset"] is None) == (one["name"] == "copy")
            for model in told["models"]:
                asked = {"task": told["task"], "data": told["dataset"], "model": model}
                checked = web.post(
                    "/api/v1/recipes:check", json={**asked, "settings": told["settings"][model]}
                )
                assert checked.status_code == 200, checked.text
            if one["name"] == "spam":  # tests of the examples themselves check all of them
                report = web.get(f"/api/v1/datasets/{told['dataset']}/report?task={told['task']}")
                assert report.json()["ok"], report.json()["reason"]
        again = web.post(f"{PATH}/spam", json={}).json()["dataset"]
        assert len(web.get("/api/v1/datasets").json()["datasets"]) == len(EXAMPLES) - 1
        assert again in [d["id"] for d in web.get("/api/v1/datasets").json()["datasets"]]


def test_an_example_that_is_not_there(web):
    answer = web.post(f"{PATH}/sonnets", json={})
    assert answer.status_code == 422 and answer.json()["code"] == "U002"


def test_times_are_those_of_this_machine(tmp_path, pretend):
    with client(tmp_path / "runs") as web:
        data = web.post(f"{PATH}/shakespeare", json={}).json()["dataset"]
        path = tmp_path / "runs" / ".studio" / "data" / data / EXAMPLES["shakespeare"].file

        def seconds() -> float | None:
            return {one["name"]: one["seconds"] for one in web.get(PATH).json()["examples"]}[
                "shakespeare"
            ]

        for name, model, spent in (("a", "ngram", 2.0), ("b", "recurrent", 40.0)):
            assert seconds() is None, "not all of its models were trained"
            run = pretend(tmp_path / "runs" / name)
            run.tell("end", 1, reason="finished", seconds=spent)
            run.vanish()
            recipe = EXAMPLES["shakespeare"].recipe(model, path.resolve())
            (run.folder / "recipe.toml").write_text(recipe.to_toml())
        assert seconds() == 42.0
