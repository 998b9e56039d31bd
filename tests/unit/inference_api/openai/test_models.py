"""GET /models and GET /models/{id}."""

import json
from typing import Any

import pytest

from inference_api.handlers import models
from inference_api.model import deployed_engine
from inference_api.shared import errors
from unit.inference_api.openai.conftest import MODEL, Deploy

ADAPTERS = {"legal": "s3://bucket/legal/", "sales": "s3://bucket/sales/"}


@pytest.fixture(autouse=True)
def lmi(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy("lmi-vllm")
    monkeypatch.setattr(deployed_engine, "state", lambda: "ready")


def get(name: str | None = None, of_key: str | None = None) -> tuple[int, Any]:
    authorizer = {"key": "team-a", "models": of_key} if of_key else {}
    event = {
        "httpMethod": "GET",
        "resource": "/models/{id+}" if name else "/models",
        "pathParameters": {"id": name} if name else None,
        "requestContext": {"requestId": "r", "identity": {}, "authorizer": authorizer},
    }
    answer = models.handler(event, None)
    return answer["statusCode"], json.loads(answer["body"])


def test_the_deployments_model_is_listed() -> None:
    model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "Qwen", "status": "ready"}
    assert get() == (200, {"object": "list", "data": [model]})


@pytest.mark.parametrize("name", [MODEL, "Qwen%2FQwen3-4B", "lmi"])
def test_it_is_found_by_its_names(name: str) -> None:
    status, model = get(name)
    assert (status, model["id"], model["object"]) == (200, MODEL, "model")


@pytest.mark.parametrize("name", ["gpt-9", "Qwen", "%ff", "Qwen%2fQwen3-4B%00"])
def test_an_unknown_one_is_openais_404(name: str) -> None:
    status, answer = get(name)
    assert (status, answer["error"]["code"]) == (404, "model_not_found")


def test_a_key_sees_its_own_models_only() -> None:
    assert get(of_key=f"other,{MODEL}")[1]["data"][0]["id"] == MODEL
    assert get(of_key="lmi")[1]["data"][0]["id"] == MODEL
    assert get(of_key="other") == (200, {"object": "list", "data": []})
    assert get(MODEL, of_key="other")[0] == 404


def test_a_status_that_nobody_can_tell_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise errors.status_unknown("AccessDenied")

    monkeypatch.setattr(deployed_engine, "state", unknown)
    assert get()[1]["data"][0]["status"] is None


def test_adapters_are_listed_with_their_parent_and_found_by_name(deploy: Deploy) -> None:
    deploy("lmi-vllm", model={"id": MODEL, "adapters": ADAPTERS})
    assert [each["id"] for each in get()[1]["data"]] == [MODEL, "legal", "sales"]
    legal = {"id": "legal", "object": "model", "created": 0, "owned_by": "Qwen", "status": "ready"}
    assert get("legal") == (200, legal | {"root": "legal", "parent": MODEL})
    assert "parent" not in get(MODEL)[1]
    assert get("support")[0] == 404


def test_a_key_sees_the_adapters_that_it_names(deploy: Deploy) -> None:
    deploy("lmi-vllm", model={"id": MODEL, "adapters": ADAPTERS})
    assert [each["id"] for each in get(of_key="legal")[1]["data"]] == ["legal"]
    assert [each["id"] for each in get(of_key=f"sales,{MODEL}")[1]["data"]] == [MODEL, "sales"]
    assert get("sales", of_key="legal")[0] == 404
