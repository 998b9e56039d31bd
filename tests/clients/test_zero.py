"""OpenAI's own SDK, unmodified, on a real-time model that falls asleep again and again while callers stream from it."""

import json
import os
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from .conftest import Served
from .test_openai import ASKED, MODEL, sdk

REQUESTS, AT_ONCE = int(os.environ.get("ZERO_REQUESTS", "40")), 8


@pytest.fixture(scope="module")
def zero(served: Mapping[str, Served]) -> Served:
    return served["zero"]


def advance(api: Served, seconds: float) -> None:
    """Put the clock of the local cloud forward."""
    body = json.dumps({"seconds": seconds}).encode()
    urllib.request.urlopen(f"{api.cloud_url}/_slipway/clock", body, timeout=300).close()


def state_of(api: Served) -> str:
    request = urllib.request.Request(f"{api.url}endpoint", headers={"x-api-key": api.key})
    with urllib.request.urlopen(request, timeout=60) as answer:
        state: str = json.load(answer)["state"]
        return state


def fall_asleep(api: Served) -> None:
    """Let time pass without a request until the model sleeps."""
    for _ in range(40):
        advance(api, 120)
        if state_of(api) == "asleep":
            return
    raise AssertionError("the model does not fall asleep")


def test_a_plain_request_wakes_the_model_and_is_told_when_to_come_back(zero: Served) -> None:
    fall_asleep(zero)
    with pytest.raises(openai.InternalServerError) as raised:
        sdk(zero).chat.completions.create(**ASKED)
    assert (raised.value.status_code, raised.value.code) == (503, "model_starting")
    assert int(raised.value.response.headers["retry-after"]) > 0
    held = sdk(zero).chat.completions.create(**ASKED, extra_query={"wait": 240})
    assert held.choices[0].message.content


def test_every_stream_over_sleeps_and_wakes_is_answered(zero: Served) -> None:
    def ask(_: int) -> str:
        chunks = list(sdk(zero).chat.completions.create(**ASKED, stream=True))
        assert {chunk.model for chunk in chunks} == {MODEL}
        assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1]
        return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)

    with ThreadPoolExecutor(AT_ONCE) as callers:
        for _ in range(REQUESTS // AT_ONCE):
            fall_asleep(zero)
            assert all(callers.map(ask, range(AT_ONCE)))
