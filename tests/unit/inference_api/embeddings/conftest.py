"""The functions' settings of models that make vectors or scores, and an endpoint that answers for them."""

import json
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import Any

import pytest

from inference_api.embeddings.exchange import read_embedding, read_rerank
from inference_api.embeddings.routes import answered as answered_at_once
from inference_api.http.gateway import streams
from inference_api.http.streaming_runtime import Streamed
from inference_api.keys.key_usage import key_usage
from inference_api.model import deployed_engine
from inference_api.openai.routes import streaming_endpoint
from inference_api.shared import runtime
from inference_api.shared.runtime import Runtime
from inference_api.shared.settings import settings, usage_table

MODEL = "BAAI/bge-small-en-v1.5"
TEI = {"embeds": "tei", "takes_ids": True, "max_tokens": 512, "vocabulary": 30522, "dimensions": 2, "any_model": True}
VLLM = {"embeds": "openai", "takes_ids": True, "max_tokens": 8192, "vocabulary": 151669, "dimensions": 2}
TEI_RERANK = {"reranks": "tei", "max_tokens": 512, "any_model": True}
VLLM_RERANK = {"reranks": "jina", "max_tokens": 8192}

Deploy = Callable[..., None]


@pytest.fixture
def deploy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deploy]:
    """deploy(facts, **more) sets the environment that a template with these facts about its engine has."""

    def set_environment(facts: dict[str, Any], **more: Any) -> None:
        facts = facts | more
        bodies = {"tei": ["inputs"], "openai": ["input"]}[facts["embeds"]] if facts.get("embeds") else ["query"]
        for name, value in {
            "ENDPOINT_NAME": "endpoint",
            "ENDPOINT_CONFIGURATION": "",
            "ENDPOINT_URL": "",
            "MODEL_ID": MODEL,
            "ENGINE": "tei",
            "ENGINE_VERSION": "",
            "HOSTING_MODE": "realtime",
            "LONGEST_WAIT_IN_SECONDS": "25",
            "MAX_BODY_BYTES": "1310720",
            "OPENAI_FACTS": json.dumps(facts),
            "OPENAI_ROUTES": "embeddings" if facts.get("embeds") else "rerank",
            "REQUEST_SCHEMA": json.dumps({"bodies": bodies, "parameters": {}, "model_aliases": []}),
        }.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()

    yield set_environment
    settings.cache_clear()


class SageMaker:
    """An endpoint that gives these answers in turn; a function makes one from the body.

    bodies: what it was asked. counts: the row of a key's usage.
    """

    def __init__(self, answers: Sequence[Any]) -> None:
        self._answers, self.bodies = list(answers), list[Any]()
        self.counts: dict[str, int] = {"tokens_in": 0, "tokens_out": 0}

    def invoke_endpoint(self, *, Body: bytes, **_: Any) -> dict[str, Any]:
        self.bodies.append(json.loads(Body))
        answer = self._answers.pop(0)
        if callable(answer):
            answer = answer(json.loads(Body))
        if isinstance(answer, Exception):
            raise answer
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return {"Body": BytesIO(content), "ContentType": "application/json"}

    def update_item(self, *, ExpressionAttributeValues: dict[str, Any], **_: Any) -> dict[str, Any]:
        for name in self.counts:
            self.counts[name] += int(ExpressionAttributeValues.get(f":{name}", {"N": "0"})["N"])
        return {}

    def describe_endpoint(self, **_: Any) -> dict[str, Any]:
        return {"EndpointStatus": "InService", "EndpointConfigName": ""}

    def close(self) -> None:
        """Close the client."""


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SageMaker]]:
    def endpoint(*given: Any) -> SageMaker:
        client = SageMaker(given)
        _forget()
        monkeypatch.setattr(runtime, "_current", Runtime(client=lambda service, config: client))
        return client

    yield endpoint
    _forget()


def _forget() -> None:
    streaming_endpoint.cache_clear()
    key_usage.cache_clear()
    deployed_engine.endpoint_status.cache_clear()


def post(document: Any, path: str = "/embeddings") -> Streamed:
    event = {
        "httpMethod": "POST",
        "resource": path,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(document),
        "requestContext": {"requestId": "r", "identity": {"apiKeyId": "k"} if usage_table() else {}},
    }
    read = read_embedding if path == "/embeddings" else read_rerank
    return streams(lambda request: answered_at_once(request, read))(event, None)


def answered(document: Any, path: str = "/embeddings") -> Any:
    """Return the answer to a request that must succeed."""
    streamed = post(document, path)
    found = json.loads(b"".join(streamed.pieces))
    assert streamed.status == 200, found
    return found


def refused(document: Any, path: str = "/embeddings") -> tuple[int, str, str | None, str]:
    """Return status, code, field and message of a refusal."""
    streamed = post(document, path)
    error = json.loads(b"".join(streamed.pieces))["error"]
    return streamed.status, error["code"], error["param"], error["message"]
