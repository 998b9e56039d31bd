"""Named keys on a deployed API: made, counted, limited, rotated and revoked by the command line and real requests."""

import json
from dataclasses import replace
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.cloud import LocalCloud
from support.command import Command, command_on
from support.deployed_stacks import Apis, assert_refused

NAME = "with-api-key"
BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 30}}


@pytest.fixture(scope="module")
def api(apis: Apis) -> ApiClient:
    return apis(NAME)


@pytest.fixture
def slipway(
    api: ApiClient, cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    return command_on(cloud, api.region, monkeypatch, capsys)


def made(slipway: Command, name: str) -> dict[str, Any]:
    """A fresh value of a key, in the place of those that live."""
    for value in listed(slipway, name)["values"]:
        assert slipway("keys", "revoke", NAME, value["id"]).status == 0
    outcome = slipway("keys", "create", NAME, name, "--json")
    assert outcome.status == 0, outcome.stderr
    return dict(json.loads(outcome.stdout))


def listed(slipway: Command, name: str) -> dict[str, Any]:
    (found,) = json.loads(slipway("keys", "list", NAME, name, "--json").stdout)
    return dict(found)


def used(slipway: Command, name: str) -> dict[str, Any]:
    report = json.loads(slipway("usage", NAME, "--json").stdout)
    return next(row for row in report["keys"] if row["key"] == name)


def test_a_key_opens_both_kinds_of_routes_until_it_is_revoked(api: ApiClient, slipway: Command) -> None:
    value = made(slipway, "team-search")["value"]
    with_key = replace(api, api_key=value)
    assert with_key.call("GET", "/endpoint")[0] == 200
    as_bearer = {"authorization": f"Bearer {value}"}
    assert replace(api, api_key=None).call("GET", "/models", headers=as_bearer)[0] == 200
    assert slipway("keys", "revoke", NAME, "team-search").status == 0
    assert_refused(with_key.call("GET", "/endpoint"), 401, "invalid_api_key", "key")
    assert replace(api, api_key=None).call("GET", "/models", headers=as_bearer)[0] == 401
    again = slipway("keys", "revoke", NAME, "team-search")
    assert again.status == 2
    assert "revoked already" in again.stderr


@pytest.mark.parametrize("key", [None, "short", "x" * 41, "not-alphanumeric-" * 3])
def test_a_missing_malformed_or_unknown_key_is_a_401(api: ApiClient, key: str | None) -> None:
    assert_refused(replace(api, api_key=key).call("GET", "/endpoint"), 401, "invalid_api_key", "key")


def test_a_key_opens_every_path(api: ApiClient) -> None:
    assert_refused(api.call("GET", "/jobs/a%0Ab"), 404, "job_not_found", "job")


def test_a_key_of_no_plan_of_this_api_is_a_401(api: ApiClient, cloud: LocalCloud) -> None:
    value = "KeyOfAnotherApi" * 3
    cloud.client("apigateway", region=api.region).create_api_key(name="another", enabled=True, value=value)
    assert_refused(replace(api, api_key=value).call("GET", "/endpoint"), 401, "invalid_api_key", "key")


def test_a_key_over_its_minute_waits_for_the_next_one(api: ApiClient, cloud: LocalCloud, slipway: Command) -> None:
    guest = replace(api, api_key=made(slipway, "guest")["value"])
    before = used(slipway, "guest")
    assert guest.call("POST", "/generate", BODY)[0] == 200
    status, headers, refused = guest.call("POST", "/generate", BODY)
    assert (status, refused["error"]["code"]) == (429, "tokens_per_minute_exceeded")
    assert 1 <= int(headers["retry-after"]) <= 60
    cloud.advance(int(headers["retry-after"]))
    assert guest.call("POST", "/generate", BODY)[0] == 200
    after = used(slipway, "guest")
    assert after["requests"] == before["requests"] + 2
    assert after["tokens_out"] > before["tokens_out"]
    assert after["tokens_in"] > before["tokens_in"]


def test_a_rotated_key_keeps_its_jobs_and_both_values_work(api: ApiClient, slipway: Command) -> None:
    old = made(slipway, "team-search")
    status, _, job = replace(api, api_key=old["value"]).call("POST", "/jobs", BODY)
    assert status == 202, job
    outcome = slipway("keys", "rotate", NAME, "team-search", "--json")
    assert outcome.status == 0
    assert f"keys revoke {NAME} {old['id']}" in outcome.stderr
    new = json.loads(outcome.stdout)
    assert new["value"][:10] == old["value"][:10]
    assert new["value"] != old["value"]
    for value in (old["value"], new["value"]):
        assert replace(api, api_key=value).call("GET", f"/jobs/{job['id']}")[0] == 200
    assert_refused(api.call("GET", f"/jobs/{job['id']}"), 404, "job_not_found", "")
    assert slipway("keys", "revoke", NAME, "team-search").status == 2  # which of the two?
    assert slipway("keys", "revoke", NAME, old["id"][:6]).status == 0
    assert replace(api, api_key=old["value"]).call("GET", f"/jobs/{job['id']}")[0] == 401
    ended = replace(api, api_key=new["value"]).call("GET", f"/jobs/{job['id']}?wait=25")[2]
    assert ended["status"] == "succeeded"


def test_a_key_may_ask_for_its_models_only(api: ApiClient, slipway: Command) -> None:
    guest = replace(api, api_key=made(slipway, "guest")["value"])
    assert_refused(guest.call("POST", "/generate", BODY | {"model": "other"}), 404, "model_not_found", "other")


def test_the_stacks_own_key_is_counted_among_the_others(api: ApiClient, slipway: Command) -> None:
    before = used(slipway, "others")
    assert api.call("POST", "/generate", BODY)[0] == 200
    assert used(slipway, "others")["requests"] == before["requests"] + 1


def test_a_value_is_shown_once(slipway: Command) -> None:
    value = made(slipway, "team-search")["value"]
    assert value not in slipway("keys", "list", NAME).stdout + slipway("keys", "list", NAME, "--json").stdout
    assert slipway("keys", "create", NAME, "team-search").status == 2  # one lives already


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", NAME, "team-serch"), "team-search"),
        (("create", NAME), "Which key?"),
        (("revoke", NAME, "nobody"), "no key of with-api-key"),
        (("list", "gpt2"), "names no keys"),
        (("list", "with-api-kay"), "did you mean"),
    ],
)
def test_a_wrong_name_is_answered_with_what_exists(
    slipway: Command, apis: Apis, arguments: tuple[str, ...], said: str
) -> None:
    apis("gpt2")
    outcome = slipway("keys", *arguments)
    assert outcome.status == 2
    assert said in outcome.stderr
