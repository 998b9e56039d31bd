"""OpenAI's own SDK, unmodified: a fault raises the exception that its users catch, and nothing is paid for twice."""

import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from os import kill
from typing import Any

import httpx2
import openai
import pytest

from .conftest import Served
from .test_openai import ASKED, MODEL, sdk


def refused(call: Callable[[], object], kind: type[openai.APIStatusError]) -> dict[str, Any]:
    """Return the error that the SDK raises: OpenAI's members, and our own code."""
    with pytest.raises(kind) as raised:
        call()
    assert isinstance(raised.value.body, dict)
    assert raised.value.body.keys() >= {"message", "type", "param", "code"}
    return raised.value.body


@pytest.mark.parametrize("stream", [False, True])
def test_an_unknown_model_is_not_found(lmi: Served, stream: bool) -> None:
    asked = ASKED | {"model": "gpt-4o", "stream": stream}
    error = refused(lambda: sdk(lmi).chat.completions.create(**asked), openai.NotFoundError)
    assert (error["code"], error["param"], error["type"]) == ("model_not_found", "model", "invalid_request_error")
    error = refused(lambda: sdk(lmi).models.retrieve("gpt-4o"), openai.NotFoundError)
    assert error["code"] == "model_not_found"


@pytest.mark.parametrize("key", ["sk-no", "b" * 50])
def test_a_key_that_nobody_has_is_refused(lmi: Served, key: str) -> None:
    client = sdk(lmi, api_key=key)
    for call in (lambda: client.chat.completions.create(**ASKED), client.models.list):
        error = refused(call, openai.AuthenticationError)
        assert (error["code"], error["type"]) == ("invalid_api_key", "authentication_error")


@pytest.mark.parametrize("stream", [False, True])
def test_a_bad_parameter_is_a_bad_request_with_its_name(lmi: Served, stream: bool) -> None:
    error = refused(
        lambda: sdk(lmi).chat.completions.create(**ASKED, temperature=-1, stream=stream), openai.BadRequestError
    )
    assert (error["code"], error["param"]) == ("invalid_parameter", "temperature")


@pytest.mark.parametrize("name", ["lmi", "tgi", "vllm", "sglang", "ec2"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.usefixtures("ec2")
def test_a_prompt_that_is_too_long_gets_openais_error(served: Mapping[str, Served], name: str, stream: bool) -> None:
    client, asked = sdk(served[name]), ASKED | {"messages": [{"role": "user", "content": "word " * 9000}]}
    with pytest.raises(openai.APIError) as raised:
        list(client.chat.completions.create(**asked, stream=stream))
    assert raised.value.code == "context_length_exceeded"
    said = "exceeded: " if name == "tgi" else "8192 tokens"  # TGI's limit for a prompt alone is lower
    assert f"This model's maximum context length is {said}" in raised.value.message


@pytest.mark.parametrize("name", ["tgi", "sglang", "ec2"])
def test_an_engine_that_accepts_any_model_name_does_so_here(served: Mapping[str, Served], name: str) -> None:
    asked = ASKED | {"model": "dummy"}
    assert {chunk.model for chunk in sdk(served[name]).chat.completions.create(**asked, stream=True)} == {MODEL}


def test_a_model_without_chat_template_says_so(served: Mapping[str, Served]) -> None:
    asked = ASKED | {"model": "openai-community/gpt2"}
    error = refused(lambda: sdk(served["tgi-inputs"]).chat.completions.create(**asked), openai.BadRequestError)
    assert error["code"] == "unsupported_body"


def test_a_key_past_its_requests_has_to_wait(lmi: Served) -> None:
    client = sdk(lmi, api_key=lmi.keys["few-requests"])
    assert [client.models.list().data[0].id for _ in range(2)] == [MODEL] * 2
    with pytest.raises(openai.RateLimitError) as raised:
        client.models.list()
    assert raised.value.code == "quota_exceeded"
    assert int(raised.value.response.headers["retry-after"]) > 120, "longer than the SDK is willing to wait"


def test_a_key_past_its_tokens_has_to_wait(lmi: Served) -> None:
    client = sdk(lmi, api_key=lmi.keys["few-tokens"])
    assert list(client.chat.completions.create(**ASKED, stream=True))
    with pytest.raises(openai.RateLimitError) as raised:
        client.chat.completions.create(**ASKED, stream=True)
    assert raised.value.code == "tokens_per_month_exceeded"
    assert int(raised.value.response.headers["retry-after"]) > 0


def test_a_caller_who_gives_up_gets_its_own_timeout(served: Mapping[str, Served]) -> None:
    with pytest.raises(openai.APITimeoutError):
        sdk(served["sglang"], timeout=2).chat.completions.create(**ASKED | {"max_tokens": 2000})


def test_a_container_that_dies_is_an_error_and_is_paid_for_once(served: Mapping[str, Served]) -> None:
    api, asked = served["sglang"], ASKED | {"max_tokens": 2000}
    left = sum(each["outstanding"] for each in containers(api, at_least=1))  # after a caller gave up
    sent = list[object]()  # including retries of the SDK
    counted = openai.DefaultHttpxClient(event_hooks={"request": [sent.append]})
    with ThreadPoolExecutor(1) as beside, sdk(api, max_retries=2, http_client=counted) as client:
        stream = client.chat.completions.create(**asked, stream=True)
        first = next(stream)
        whole = beside.submit(client.chat.completions.create, **asked)
        while len(busy := containers(api, at_least=left + 2)) == 0:
            time.sleep(0.05)
        kill(busy[0]["pid"], signal.SIGKILL)
        with pytest.raises(openai.APIError) as late:
            list(stream)
        with pytest.raises(openai.InternalServerError) as raised:
            whole.result()
    assert first.object == "chat.completion.chunk"
    assert late.value.code == "model_error"
    assert not isinstance(late.value, openai.APIConnectionError), "it says why, and is no broken connection"
    assert (raised.value.status_code, raised.value.code) == (502, "model_error")
    assert len(sent) == 2


def containers(api: Served, *, at_least: int) -> list[dict[str, Any]]:
    """Return SGLang's containers that work on so many requests."""
    found = httpx2.get(f"{api.cloud_url}/_slipway/containers").json()
    return [each for each in found if each["endpoint"].startswith("sglang-") and each["outstanding"] >= at_least]
