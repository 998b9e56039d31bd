"""Web pages' calls and a key's headers on a deployed API by real HTTP."""

import json
from dataclasses import replace
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from support.command import Command
from support.stacks.deployed_stacks import Apis

NAME, FIRST, SECOND, STRANGER = "web-pages", "https://chat.example.com", "http://localhost:5173", "https://evil.example"
CHAT = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5}
ALLOWED, READABLE = "access-control-allow-origin", "access-control-expose-headers"


@pytest.fixture(scope="module")
def api(apis: Apis) -> ApiClient:
    return replace(apis(NAME), api_key=None)


@pytest.fixture
def bearer(api: ApiClient, slipway: Command) -> dict[str, str]:
    """Return the header with a fresh value of the key."""
    slipway("keys", "revoke", NAME, "pages")
    made = slipway("keys", "create", NAME, "pages", "--json")
    assert made.status == 0, made.stderr
    return {"authorization": f"Bearer {json.loads(made.stdout)['value']}"}


def preflight(api: ApiClient, path: str, origin: str) -> tuple[int, dict[str, str]]:
    asked = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang",
    }
    with api.open("OPTIONS", path, None, asked) as answer:
        assert answer.read() == b""
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}


@pytest.mark.parametrize(("origin", "named"), [(FIRST, FIRST), (SECOND, SECOND), (STRANGER, FIRST)])
def test_a_preflight_without_a_key_names_the_pages_own_origin_or_the_first(
    api: ApiClient, origin: str, named: str
) -> None:
    status, headers = preflight(api, "/chat/completions", origin)
    assert (status, headers[ALLOWED], headers["access-control-allow-methods"]) == (204, named, "POST")
    assert {"authorization", "content-type", "x-stainless-lang"} <= {
        *headers["access-control-allow-headers"].split(",")
    }
    assert "x-amz-date" not in headers["access-control-allow-headers"]


@pytest.mark.parametrize("path", ["/models", "/models/Qwen/Qwen3-4B", "/generate", "/endpoint", "/responses"])
def test_every_route_answers_preflights(api: ApiClient, path: str) -> None:
    status, headers = preflight(api, path, SECOND)
    assert (status, headers[ALLOWED]) == (204, SECOND)


@pytest.mark.parametrize("stream", [False, True])
def test_only_pages_of_named_origins_can_read_an_answer(api: ApiClient, bearer: dict[str, str], stream: bool) -> None:
    body = json.dumps(CHAT | {"stream": stream}).encode()
    for origin, named in ((FIRST, FIRST), (SECOND, SECOND), (STRANGER, None), (f"{FIRST}.evil.example", None)):
        sent = bearer | {"origin": origin, "content-type": "application/json"}
        with api.open("POST", "/chat/completions", body, sent) as answer:
            headers = {name.lower(): value for name, value in answer.getheaders()}
            assert answer.status == 200
        assert (headers.get(ALLOWED), headers["vary"]) == (named, "origin")
        assert (READABLE in headers) == bool(named)


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_can_be_read_and_tells_what_is_left_of_the_keys_limits(
    api: ApiClient, bearer: dict[str, str], stream: bool
) -> None:
    body = json.dumps({"input": "Hi", "max_output_tokens": 16, "stream": stream}).encode()
    sent = bearer | {"origin": SECOND, "content-type": "application/json"}
    with api.open("POST", "/responses", body, sent) as answer:
        text, headers = answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}
    assert (answer.status, headers[ALLOWED], headers["openai-model"]) == (200, SECOND, "Qwen/Qwen3-4B")
    assert int(headers["x-ratelimit-remaining-tokens"]) < 2000
    assert ("event: response.completed" in text or "event: response.incomplete" in text) == stream


def test_refusals_of_a_function_can_be_read_too(api: ApiClient, bearer: dict[str, str]) -> None:
    status, headers, _ = api.call("POST", "/chat/completions", {}, headers=bearer | {"origin": SECOND})
    assert (status, headers[ALLOWED]) == (400, SECOND)


@pytest.mark.parametrize("origin", [FIRST, SECOND, STRANGER])
@pytest.mark.parametrize(("path", "status"), [("/models", 401), ("/nowhere", 404)])
def test_answers_of_the_gateway_itself_name_the_first_origin_whoever_asks(
    api: ApiClient, origin: str, path: str, status: int
) -> None:
    found, headers, _ = api.call("GET", path, headers={"origin": origin})
    assert (found, headers[ALLOWED]) == (status, FIRST)
    assert "retry-after" in headers[READABLE]


def chat(api: ApiClient, bearer: dict[str, str], **more: Any) -> tuple[int, dict[str, str]]:
    body = json.dumps(CHAT | more).encode()
    with api.open("POST", "/chat/completions", body, bearer | {"content-type": "application/json"}) as answer:
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_tells_its_model_its_time_and_what_is_left_of_the_keys_limits(
    api: ApiClient, bearer: dict[str, str], stream: bool, cloud: Any
) -> None:
    cloud.advance(61)
    status, headers = chat(api, bearer, stream=stream)
    assert status == 200
    assert headers["openai-model"] == "Qwen/Qwen3-4B"
    assert headers["openai-processing-ms"].isdecimal()
    assert headers["x-ratelimit-limit-requests"] == "300"
    assert headers["x-ratelimit-limit-tokens"] == "2000"
    assert headers["x-ratelimit-remaining-tokens"] == "1994"  # 5 for the answer, 1 for the prompt's two bytes
    assert headers["x-ratelimit-reset-tokens"] in {"1m0s", *(f"{seconds}s" for seconds in range(1, 60))}


def test_an_answer_that_takes_no_tokens_tells_the_limits_alone(api: ApiClient, bearer: dict[str, str]) -> None:
    status, headers, _ = api.call("GET", "/models", headers=bearer)
    assert (status, headers["x-ratelimit-limit-tokens"], headers["x-ratelimit-limit-requests"]) == (200, "2000", "300")
    assert "x-ratelimit-remaining-tokens" not in headers


def test_a_refusal_at_the_limit_says_when_it_renews_as_retry_after_does(
    api: ApiClient, bearer: dict[str, str], cloud: Any
) -> None:
    cloud.advance(61)
    long = [{"role": "user", "content": "Hi " * 3000}]
    assert chat(api, bearer, messages=long)[0] == 200
    status, headers = chat(api, bearer)
    assert (status, headers["x-ratelimit-limit-tokens"], headers["x-ratelimit-remaining-tokens"]) == (429, "2000", "0")
    seconds = int(headers["retry-after"])
    assert headers["x-ratelimit-reset-tokens"] == ("1m0s" if seconds == 60 else f"{seconds}s")
