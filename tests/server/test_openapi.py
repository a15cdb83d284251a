"""/openapi.json: complete, with descriptions, and in line with the responses."""

import pytest

from seqloom.server.schemas import model_responses, responses

GETS = {
    "/api/v1/status": responses.ServerStatus,
    "/api/v1/runs": responses.RunList,
    "/api/v1/runs/judge": responses.RunDetail,
    "/api/v1/runs/judge/command": responses.RunCommand,
    "/api/v1/models": model_responses.ModelList,
    "/api/v1/models/judge": model_responses.ModelDetail,
    "/api/v1/models/judge/card": model_responses.ModelCard,
    "/api/v1/tasks": responses.TaskList,
    "/api/v1/tasks/tag/models": responses.TrainableModels,
    "/api/v1/examples": model_responses.ExampleList,
    "/api/v1/datasets": model_responses.DataSetList,
    "/api/v1/requests": responses.LoggedRequests,
    "/api/v1/help/D011": responses.ErrorCodePage,
    "/healthz": responses.Health,
    "/readyz": responses.Health,
    "/version": responses.VersionInfo,
}


@pytest.fixture(scope="module")
def described(web):
    return web.get("/openapi.json").json()


def test_every_address_is_described_in_words(described):
    for path, methods in described["paths"].items():
        for method, told in methods.items():
            assert told.get("summary") and told.get("description"), (method, path)
            assert told.get("tags"), (method, path)
            assert any(status.startswith("4") for status in told["responses"]), (method, path)


def test_every_address_of_the_contract_is_there(described):
    wanted = """healthz readyz version api/v1/status api/v1/runs api/v1/runs/{run}
        api/v1/runs/{run}:stop api/v1/runs/{run}:resume api/v1/runs/{run}/events api/v1/tasks
        api/v1/runs/{run}/command
        api/v1/tasks/{task}/models api/v1/recipes:check api/v1/recipes:estimate
        api/v1/datasets api/v1/datasets/{dataset}
        api/v1/datasets/{dataset}/report api/v1/examples api/v1/examples/{name} api/v1/models
        api/v1/models/{model} api/v1/models/{model}/card api/v1/models/{model}:predict
        api/v1/models/{model}:stream api/v1/models/{model}/views/{view} api/v1/compare
        api/v1/models/{model}:rename api/v1/models/{model}/export
        api/v1/compare:inputs api/v1/requests"""
    assert {f"/{path}" for path in wanted.split()} <= set(described["paths"])


@pytest.mark.parametrize("path", GETS)
def test_what_is_answered_is_as_described(web, path):
    answer = web.get(path)
    assert answer.status_code == 200
    kind = GETS[path]
    found = kind.model_validate(answer.json())
    extra = set(answer.json()) - set(kind.model_fields)
    assert not extra, f"not described: {extra}"
    assert found.model_dump().keys() <= answer.json().keys() | set(kind.model_fields)


def test_requests_are_noted_without_what_they_said(web):
    web.post("/api/v1/models/counts:predict", json={"inputs": ["the secret"]})
    (note, *_) = web.get("/api/v1/requests").json()["requests"]
    assert note["model"] == "counts" and note["status"] == 200 and note["ms"] > 0
    assert "secret" not in str(note)


def test_nothing_is_loaded_from_elsewhere(web, described):
    assert web.get("/docs").status_code == 404 and web.get("/redoc").status_code == 404
    assert "servers" not in described
