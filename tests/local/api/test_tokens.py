"""An API with `auth: jwt` by real HTTP, with an issuer that serves its keys by TLS."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.cloud import LocalCloud
from support.command import Command
from support.stacks.canary import Canary
from support.stacks.deployed_stacks import Apis, ended
from support.stand_ins.bad_tokens import BAD_TOKENS, GOOD_TOKENS, publish_unusable_keys
from support.stand_ins.issuer import Issuer

CHAT = {"messages": [{"role": "user", "content": "The sea is"}], "max_tokens": 3}
PROMPT = {"inputs": "The sea is", "parameters": {"max_new_tokens": 3}}


@pytest.fixture(scope="module")
def api(apis: Apis, issuer: Issuer) -> ApiClient:
    """The API, and an issuer with some keys that fit no token."""
    publish_unusable_keys(issuer)
    return apis("with-jwt")


@pytest.fixture
def changed(issuer: Issuer, cloud: LocalCloud) -> Iterator[Issuer]:
    """An issuer that a test may change; the functions read its keys again afterwards."""
    published = list(issuer.published)
    yield issuer
    issuer.published, issuer.fault = published, None
    cloud.advance(301)


def as_caller(api: ApiClient, issuer: Issuer, **claims: Any) -> ApiClient:
    return replace(api, token=issuer.token(**claims))


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_a_token_that_proves_too_little_is_refused(api: ApiClient, issuer: Issuer, name: str) -> None:
    wanted, make = BAD_TOKENS[name]
    status, headers, answer = api.call("GET", "/models", headers={"authorization": f"Bearer {make(issuer)}"})
    assert status == wanted, answer
    assert answer["error"]["code"] == {401: "invalid_token", 403: "access_denied"}[wanted]
    assert headers["www-authenticate"].startswith("Bearer")
    assert "retry-after" not in headers


def test_a_token_is_in_no_log(api: ApiClient, cloud: LocalCloud, issuer: Issuer) -> None:
    text = "canary-in-token"
    told: dict[str, Any] = {"sub": text, "email": text, text: text}
    claims = [told, told | {"groups": [text]}, told | {"scope": text}, {"iss": text}, {"aud": text}, {"exp": text}]
    tokens = [issuer.signed(text.encode()), *(issuer.token(**each) for each in claims)]
    tokens += [issuer.token(header={name: text}) for name in ("kid", "jku", "typ")]
    canary = Canary(cloud, api.region, text, *(token.partition(".")[2] for token in tokens))
    statuses = {
        replace(api, token=token).call("POST", "/jobs?wait=25", PROMPT)[0]
        for token in [*tokens, f"{text}.{text}.{text}"]
    }
    assert {200, 401, 403} <= statuses
    assert canary.places() == set()


@pytest.mark.parametrize("name", GOOD_TOKENS)
def test_a_token_that_says_enough_is_accepted(api: ApiClient, issuer: Issuer, name: str) -> None:
    status, _, answer = replace(api, token=GOOD_TOKENS[name](issuer)).call("GET", "/models")
    assert status == 200, answer


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": "Basic YTpi"}, {"x-api-key": "TOKEN"}, {"authorization": "TOKEN"}],
    ids=["none", "basic", "x-api-key", "without a scheme"],
)
def test_only_a_bearer_token_counts(api: ApiClient, issuer: Issuer, headers: dict[str, str]) -> None:
    sent = {name: value.replace("TOKEN", issuer.token()) for name, value in headers.items()}
    assert api.call("GET", "/models", headers=sent)[0] == 401


@pytest.mark.parametrize("route", ["/models", "/endpoint", "/jobs", "/batches", "/files"])
def test_a_token_opens_every_route(api: ApiClient, issuer: Issuer, route: str) -> None:
    assert as_caller(api, issuer).call("GET", route)[0] == 200


def test_a_token_opens_the_model(api: ApiClient, issuer: Issuer) -> None:
    caller = as_caller(api, issuer)
    assert caller.call("POST", "/chat/completions", CHAT)[0] == 200
    assert caller.call("POST", "/generate", PROMPT)[0] == 200


def test_a_job_belongs_to_issuer_and_sub_whichever_token_says_them(api: ApiClient, issuer: Issuer) -> None:
    """What strangers may not do with it is tried in test_abuse.py."""
    job = as_caller(api, issuer, sub="alice").call("POST", "/jobs", PROMPT)[2]
    assert as_caller(api, issuer, sub="alice", jti="another token").call("GET", f"/jobs/{job['id']}")[0] == 200
    assert as_caller(api, issuer, sub="bob").call("GET", f"/jobs/{job['id']}")[0] == 404


def test_a_token_ends_at_its_end_although_the_gateway_keeps_answers(
    api: ApiClient, issuer: Issuer, cloud: LocalCloud
) -> None:
    caller = as_caller(api, issuer, exp=int(issuer.now()) + 100)
    assert caller.call("GET", "/models")[0] == 200
    cloud.advance(101)
    status, headers, answer = caller.call("GET", "/models")
    assert (status, answer["error"]["code"]) == (401, "invalid_token")
    assert headers["www-authenticate"] == 'Bearer error="invalid_token"'


def test_a_new_key_is_found_and_an_old_one_ends(api: ApiClient, changed: Issuer, cloud: LocalCloud) -> None:
    old = as_caller(api, changed, sub="rotation")
    assert old.call("GET", "/models")[0] == 200
    changed.published = [changed.described("ES256")]
    key = changed.new_key("second")
    changed.published.append({**changed.described("RS256"), **_public(key), "kid": "second"})
    cloud.advance(31)  # the pause between two looks for an unknown key
    new = replace(api, token=changed.token(key=key, header={"kid": "second"}))
    assert new.call("GET", "/models")[0] == 200
    cloud.advance(301)  # as long as the gateway keeps an answer, and the function a key
    assert old.call("GET", "/models")[0] == 401


def _public(key: Any) -> dict[str, Any]:
    import jwt

    return jwt.get_algorithm_by_name("RS256").to_jwk(key.public_key(), as_dict=True)


def test_strangers_can_t_make_the_function_ask_the_issuer_again_and_again(api: ApiClient, changed: Issuer) -> None:
    assert as_caller(api, changed, sub="first").call("GET", "/models")[0] == 200
    before = len(changed.requests)
    for number in range(5):
        unknown = replace(api, token=changed.token(header={"kid": f"unknown-{number}"}))
        assert unknown.call("GET", "/models")[0] == 401
    assert len(changed.requests) <= before + 2  # one look, at two documents, as no look was due before


@pytest.mark.parametrize(
    "fault",
    [(500, b"{}"), (200, b"no json"), (200, b'{"issuer": "https://evil.example"}'), (302, b""), (200, b" " * 300_000)],
    ids=["500", "no JSON", "another issuer", "redirect", "too large"],
)
def test_without_the_issuer_s_keys_nobody_is_let_in_and_callers_are_told_to_retry(
    api: ApiClient, changed: Issuer, cloud: LocalCloud, fault: tuple[int, bytes]
) -> None:
    cloud.advance(301)
    changed.fault = fault
    status, headers, answer = as_caller(api, changed).call("GET", "/models")
    assert (status, answer["error"]["code"]) == (503, "service_unavailable")
    assert int(headers["retry-after"]) > 0


def test_nothing_that_stays_holds_a_token_or_its_sub(api: ApiClient, issuer: Issuer, cloud: LocalCloud) -> None:
    token = issuer.token(sub="canary@example.com")
    canary = Canary(cloud, api.region, "canary@example.com", token.split(".")[1])
    caller = replace(api, token=token)
    assert caller.call("POST", "/chat/completions", CHAT)[0] == 200
    ended(caller, caller.call("POST", "/jobs", PROMPT)[2])
    lacking = issuer.token(sub="canary@example.com", groups=[])
    for bad, status in ((f"{token[:-9]}AAAAAAAAA", 401), (lacking, 403)):
        assert replace(api, token=bad).call("GET", "/models")[0] == status
    assert canary.places() == set()


def test_a_group_may_use_its_models_only(api: ApiClient, issuer: Issuer) -> None:
    guest = as_caller(api, issuer, sub="models", groups=["guests"])
    status, _, answer = guest.call("POST", "/chat/completions", {**CHAT, "model": "another"})
    assert (status, answer["error"]["code"]) == (404, "model_not_found")
    assert guest.call("POST", "/chat/completions", {**CHAT, "model": "Qwen/Qwen3-4B"})[0] == 200


def test_each_caller_of_a_group_has_its_limits_and_the_first_group_of_the_file_counts(
    api: ApiClient, issuer: Issuer
) -> None:
    long = {**CHAT, "max_tokens": 100}
    guest = as_caller(api, issuer, sub="guest-1", groups=["guests"])
    status, headers, _ = guest.call("POST", "/chat/completions", long)
    assert (status, headers["x-ratelimit-limit-tokens"]) == (200, "60")
    assert any(guest.call("POST", "/chat/completions", long)[0] == 429 for _ in range(20))
    other = as_caller(api, issuer, sub="guest-2", groups=["guests"])
    assert other.call("POST", "/chat/completions", long)[0] == 200
    both = as_caller(api, issuer, sub="guest-3", groups=["guests", "research"])
    assert both.call("POST", "/chat/completions", CHAT)[1]["x-ratelimit-limit-tokens"] == "20000"


def test_usage_shows_each_caller_s_hash_and_group(api: ApiClient, issuer: Issuer, slipway: Command) -> None:
    as_caller(api, issuer, sub="counted").call("POST", "/chat/completions", CHAT)
    shown = slipway("usage", "with-jwt")
    assert shown.status == 0
    assert "research" in shown.stdout
    assert "counted" not in shown.stdout


def test_the_operator_s_commands_send_the_token_of_the_environment(
    api: ApiClient, issuer: Issuer, slipway: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = slipway("call", "with-jwt", "The sea is", "--max-tokens", "3")
    assert without.status != 0
    assert "asks for a token of https://login.example.com/tenant: put one into SLIPWAY_TOKEN" in without.stderr
    monkeypatch.setenv("SLIPWAY_TOKEN", issuer.token(sub="operator"))
    assert slipway("call", "with-jwt", "The sea is", "--max-tokens", "3").status == 0


def test_the_openapi_document_tells_that_every_route_takes_a_token(api: ApiClient, slipway: Command) -> None:
    paths = json.loads(slipway("openapi", "with-jwt").stdout)["paths"]
    assert {json.dumps(each["security"]) for path in paths.values() for each in path.values()} == {'[{"token": []}]'}
