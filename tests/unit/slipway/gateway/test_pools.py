"""Which deployments answer for a public name, in which shares, and what is refused."""

from typing import Any

import pytest

from slipway.gateway.backend import GatewayError
from support.gateway import backend, pools_of

BIG, NEXT, SMALL = backend("big", "a/big"), backend("next", "a/big"), backend("small", "a/small")


def test_each_name_of_a_model_is_public() -> None:
    found = pools_of(backend("chat", "a/model", "served", "legal"))
    assert [pool.name for pool in found] == ["a/model", "served", "legal"]


def test_deployments_of_one_model_share_its_calls_by_weight() -> None:
    (pool,) = pools_of(BIG, NEXT, big=9, next=1)
    assert pool.shares == ((BIG, 9), (NEXT, 1))


def test_an_older_api_without_responses_shares_calls_with_a_newer_one() -> None:
    older = backend("older", "a/big", routes=BIG.routes - {"responses"})
    assert len(pools_of(BIG, older, big=1, older=1)[0].shares) == 2


def test_the_stacks_of_a_fleet_share_calls_evenly() -> None:
    (pool,) = pools_of(BIG, NEXT, even=True)
    assert pool.shares == ((BIG, None), (NEXT, None))


def test_every_name_of_a_deployment_has_its_fallback() -> None:
    found = pools_of(backend("big", "a/big", "legal"), SMALL, fallbacks={"big": ["small"]})
    assert {pool.name: pool.fallbacks for pool in found} == {
        "a/big": ("a/small",),
        "legal": ("a/small",),
        "a/small": (),
    }


@pytest.mark.parametrize(
    ("backends", "options", "words"),
    [
        ([BIG, NEXT], {}, ["big and next serve a/big", "--weight big=9 --weight next=1", "leave one out"]),
        ([BIG, NEXT], {"big": 9}, ["--weight big=9 --weight next=1"]),
        ([BIG, NEXT], {"big": 9, "even": True}, ["share its calls"]),
        ([BIG], {"bgi": 9}, ["--weight bgi", "did you mean big?"]),
        ([BIG, SMALL], {"big": 9}, ["--weight big", "no other deployment serves the same model"]),
        ([BIG], {"fallbacks": {"big": ["smal"]}}, ["--fallback smal", "no such deployment"]),
        ([BIG], {"fallbacks": {"big": ["big"]}}, ["--fallback big=big", "both serve a/big"]),
        (
            [BIG, backend("vectors", routes=frozenset({"embeddings"}))],
            {"fallbacks": {"big": ["vectors"]}},
            ["--fallback big=vectors", "answers only embeddings"],
        ),
        ([backend("signed", auth="iam")], {}, ["signed", "api.auth: iam", "set api.auth: api-key"]),
        ([backend("plain", routes=frozenset())], {}, ["plain has no routes of OpenAI's API", "api.openai: true"]),
        (
            [BIG, backend("other", "a/big", routes=frozenset({"completions"}))],
            {"big": 1, "other": 1},
            ["with different routes"],
        ),
    ],
)
def test_what_no_gateway_can_do_is_refused_in_a_sentence(backends: Any, options: Any, words: list[str]) -> None:
    with pytest.raises(GatewayError) as raised:
        pools_of(*backends, **options)
    assert [word for word in words if word not in str(raised.value)] == []
    assert str(raised.value).endswith((".", "?"))
