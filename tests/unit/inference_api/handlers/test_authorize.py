"""The authorizer of an API with keys."""

import importlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from inference_api.keys.named_key import AuthorizedKey, prefix_of

METHOD = "arn:aws:execute-api:eu-west-1:111122223333:a1b2c3d4e5/v1/POST/chat/completions"
NAMED = prefix_of("alice") + "A" * 40
UNNAMED = "ownKeyOfTheStack0123456789012345678901234"
Authorize = Callable[[str], dict[str, Any]]


@pytest.fixture
def authorize(monkeypatch: pytest.MonkeyPatch) -> Authorize:
    """The authorizer of a key that has limits, and of one whose last day was in 2020."""
    keys = {"alice": {"tokens_per_minute": 10**12, "models": "a,b"}, "late": {"expires": 1_600_000_000}}
    monkeypatch.setenv("API_KEYS", json.dumps(keys))
    module = importlib.reload(importlib.import_module("inference_api.handlers.authorize"))
    return lambda token: module.handler({"authorizationToken": token, "methodArn": METHOD}, None)


def effect(answer: dict[str, Any]) -> str:
    (statement,) = answer["policyDocument"]["Statement"]
    return str(statement["Effect"])


@pytest.mark.parametrize("token", [UNNAMED, f"Bearer {UNNAMED}", f"bearer  {UNNAMED}"])
def test_the_key_is_handed_to_the_usage_plans_from_either_header(authorize: Authorize, token: str) -> None:
    assert authorize(token)["usageIdentifierKey"] == UNNAMED


def test_the_policy_covers_every_route_as_it_is_kept_for_all(authorize: Authorize) -> None:
    (statement,) = authorize(NAMED)["policyDocument"]["Statement"]
    assert statement["Resource"] == "arn:aws:execute-api:eu-west-1:111122223333:a1b2c3d4e5/v1/*"


def test_a_named_key_is_known_by_its_first_characters(authorize: Authorize) -> None:
    key = AuthorizedKey.from_context(authorize(NAMED)["context"])
    assert key == AuthorizedKey("alice", tokens_per_minute=10**12, models=("a", "b"))
    assert AuthorizedKey.from_context(authorize(UNNAMED)["context"]) is None


def test_limits_are_texts_which_api_gateway_leaves_as_they_are(authorize: Authorize) -> None:
    assert authorize(NAMED)["context"] == {"key": "alice", "tokens_per_minute": "1000000000000", "models": "a,b"}


def test_an_expired_key_is_denied_and_no_other(authorize: Authorize) -> None:
    assert effect(authorize(prefix_of("late") + "A" * 40)) == "Deny"
    assert effect(authorize(NAMED)) == effect(authorize(UNNAMED)) == "Allow"


def test_the_principal_tells_nothing_of_the_key(authorize: Authorize) -> None:
    assert NAMED[10:20] not in authorize(NAMED)["principalId"]
    assert authorize(NAMED)["principalId"] != authorize(UNNAMED)["principalId"]


@pytest.mark.parametrize(
    ("models", "asked", "may"),
    [
        (None, "anything", True),
        (("org/model",), "org/model", True),
        (("org/model",), "alias", True),
        (("alias",), "org/model", True),
        (("adapter",), "adapter", True),
        (("adapter",), "org/model", False),
        (("org/model",), "adapter", False),
        (("org/model",), {"not": "a name"}, False),
    ],
)
def test_a_key_that_has_the_model_by_one_name_has_it_by_all(
    models: tuple[str, ...] | None, asked: object, may: bool
) -> None:
    assert AuthorizedKey("alice", models=models).may_ask_for(asked, ("org/model", "alias")) is may
