"""Named keys on a deployed API: made, counted, limited, rotated and revoked by the command line and real requests."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.cloud import LocalCloud
from support.command import Command
from support.stacks.deployed_stacks import Apis, assert_refused

NAME = "with-api-key"
Make = Callable[[str], dict[str, Any]]
BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 30}}


@pytest.fixture(scope="module", autouse=True)
def api(apis: Apis) -> ApiClient:
    return apis(NAME)


@pytest.fixture
def made(api: ApiClient, cloud: LocalCloud, slipway: Command) -> Make:
    """Return a function that makes a fresh value of a named key and deletes the existing ones."""

    def make(name: str) -> dict[str, Any]:
        gateway = cloud.client("apigateway", region=api.region)
        for value in gateway.get_api_keys(nameQuery=f"{NAME}-{name}-")["items"]:
            gateway.delete_api_key(apiKey=value["id"])
        outcome = slipway("keys", "create", NAME, name, "--json")
        assert outcome.status == 0, outcome.stderr
        return dict(json.loads(outcome.stdout))

    return make


def listed(slipway: Command, name: str) -> dict[str, Any]:
    (found,) = json.loads(slipway("keys", "list", NAME, name, "--json").stdout)
    return dict(found)


def used(slipway: Command, name: str) -> dict[str, Any]:
    report = json.loads(slipway("usage", NAME, "--json").stdout)
    return next(row for row in report["keys"] if row["key"] == name)


def authorizer_calls(cloud: LocalCloud, api: ApiClient) -> float:
    """Count the calls of the authorizer since the cloud began."""
    described = cloud.client("cloudformation", region=api.region).describe_stack_resources(StackName=NAME)
    function = next(
        each["PhysicalResourceId"]
        for each in described["StackResources"]
        if each["ResourceType"] == "AWS::Lambda::Function" and "Authorize" in each["LogicalResourceId"]
    )
    now = datetime.now(UTC)
    found = cloud.client("cloudwatch", region=api.region).get_metric_statistics(
        Namespace="AWS/Lambda",
        MetricName="Invocations",
        Dimensions=[{"Name": "FunctionName", "Value": function}],
        StartTime=now - timedelta(days=1),
        EndTime=now + timedelta(days=100),
        Period=86_400,
        Statistics=["Sum"],
    )
    return float(sum(point["Sum"] for point in found["Datapoints"]))


def test_a_key_opens_both_kinds_of_routes_until_it_is_revoked(api: ApiClient, slipway: Command, made: Make) -> None:
    value = made("team-search")["value"]
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


def test_a_malformed_key_never_calls_the_authorizer(api: ApiClient, cloud: LocalCloud, made: Make) -> None:
    value, nobody = made("team-search")["value"], replace(api, api_key=None)
    before = authorizer_calls(cloud, api)
    for garbage in ("Bearer short", "Bearer " + "x" * 129, f"Basic {value}", f"Bearer {value}, Bearer {value}", value):
        assert nobody.call("GET", "/models", headers={"authorization": garbage})[0] == 401
    assert replace(api, api_key=f"Bearer {value}").call("GET", "/endpoint")[0] == 401
    assert authorizer_calls(cloud, api) == before
    assert nobody.call("GET", "/models", headers={"authorization": f"Bearer {value}"})[0] == 200
    assert authorizer_calls(cloud, api) == before + 1


def test_the_header_of_the_route_decides_the_owner_of_a_request(api: ApiClient, slipway: Command, made: Make) -> None:
    search, guest = made("team-search")["value"], made("guest")["value"]
    both = {"authorization": f"Bearer {guest}", "x-api-key": search}
    status, _, job = replace(api, api_key=None).call("POST", "/jobs", BODY, headers=both)
    assert status == 202
    assert replace(api, api_key=search).call("GET", f"/jobs/{job['id']}")[0] == 200
    assert_refused(replace(api, api_key=guest).call("GET", f"/jobs/{job['id']}"), 404, "job_not_found", "")
    for instead in ({"authorization": f"Bearer {search}"}, {"x-api-key": search}):
        route = "/models" if "x-api-key" in instead else "/endpoint"
        assert replace(api, api_key=None).call("GET", route, headers=instead)[0] == 401


def test_an_expired_key_gets_its_own_error(api: ApiClient, slipway: Command, made: Make) -> None:
    former = replace(api, api_key=made("former")["value"])
    assert_refused(former.call("GET", "/endpoint"), 401, "invalid_api_key", "expired")


@pytest.mark.parametrize(("name", "code"), [("crawler", "throttled"), ("trial", "quota_exceeded")])
def test_a_key_has_the_requests_of_its_plan(api: ApiClient, slipway: Command, name: str, code: str, made: Make) -> None:
    limited = replace(api, api_key=made(name)["value"])
    assert [limited.call("GET", "/endpoint")[0] for _ in range(2)] == [200, 200]
    assert_refused(limited.call("GET", "/endpoint"), 429, code)


def test_a_key_opens_every_path(api: ApiClient) -> None:
    assert_refused(api.call("GET", "/jobs/a%0Ab"), 404, "job_not_found", "job")


def test_a_key_of_no_plan_of_this_api_is_a_401(api: ApiClient, cloud: LocalCloud) -> None:
    value = "KeyOfAnotherApi" * 3
    cloud.client("apigateway", region=api.region).create_api_key(name="another", enabled=True, value=value)
    assert_refused(replace(api, api_key=value).call("GET", "/endpoint"), 401, "invalid_api_key", "key")


def test_a_key_over_its_minute_waits_for_the_next_one(
    api: ApiClient, cloud: LocalCloud, slipway: Command, made: Make
) -> None:
    guest = replace(api, api_key=made("guest")["value"])
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
    assert after["tokens_open"] == 0


def test_a_rotated_key_keeps_its_jobs_and_both_values_work(api: ApiClient, slipway: Command, made: Make) -> None:
    old = made("team-search")
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


def test_a_key_may_ask_for_its_models_only(api: ApiClient, slipway: Command, made: Make) -> None:
    guest = replace(api, api_key=made("guest")["value"])
    assert_refused(guest.call("POST", "/generate", BODY | {"model": "other"}), 404, "model_not_found", "other")


def test_the_stacks_own_key_is_counted_among_the_others(api: ApiClient, slipway: Command) -> None:
    before = used(slipway, "others")
    assert api.call("POST", "/generate", BODY)[0] == 200
    assert used(slipway, "others")["requests"] == before["requests"] + 1


def test_a_key_outside_of_its_plan_is_reported_and_blocks_nothing(
    api: ApiClient, cloud: LocalCloud, slipway: Command, made: Make
) -> None:
    stale, gateway = made("team-search"), cloud.client("apigateway", region=api.region)
    for plan in gateway.get_usage_plans(keyId=stale["id"])["items"]:  # as after a new deploy of a deleted stack
        gateway.delete_usage_plan_key(usagePlanId=plan["id"], keyId=stale["id"])
    assert f"{stale['id']} of team-search is refused by the API" in slipway("keys", "list", NAME).stdout
    assert slipway("keys", "rotate", NAME, "team-search").status == 2
    assert slipway("keys", "create", NAME, "team-search").status == 0
    assert slipway("keys", "rotate", NAME, "team-search").status == 0
    shown = {each["id"]: each["opens"] for each in listed(slipway, "team-search")["values"]}
    assert (shown[stale["id"]], list(shown.values()).count(True)) == (False, 2)


def test_a_rotation_that_fails_in_the_middle_leaves_the_old_value_alone(
    cloud: LocalCloud, slipway: Command, made: Make
) -> None:
    old = made("trial")["id"]
    allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    plans = {"Effect": "Deny", "Action": "apigateway:POST", "Resource": "arn:aws:apigateway:*::/usageplans/*"}
    outcome = slipway("keys", "rotate", NAME, "trial", caller=cloud.create_user("no-plans", [allowed, plans]))
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "CreateUsagePlanKey" in outcome.stderr
    assert [each["id"] for each in listed(slipway, "trial")["values"]] == [old]


def test_revoke_never_takes_a_name_for_the_beginning_of_an_id(api: ApiClient, slipway: Command, made: Make) -> None:
    kept = made("guest")["id"]
    for given in ("", kept[:3]):
        assert slipway("keys", "revoke", NAME, given).status == 2
    assert listed(slipway, "guest")["values"][0]["id"] == kept


def test_a_value_is_shown_once(slipway: Command, made: Make) -> None:
    value = made("team-search")["value"]
    assert value not in slipway("keys", "list", NAME).stdout + slipway("keys", "list", NAME, "--json").stdout
    assert slipway("keys", "create", NAME, "team-search").status == 2  # one exists already


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", NAME, "team-serch"), "team-search"),
        (("create", NAME), "Give the name of a key"),
        (("revoke", NAME, "nobody"), "no key of with-api-key"),
        (("list", "gpt2"), "names no keys"),
        (("list", "with-api-kay"), "did you mean"),
    ],
)
def test_a_wrong_name_is_answered_with_the_existing_names(
    slipway: Command, apis: Apis, arguments: tuple[str, ...], said: str
) -> None:
    apis("gpt2")
    outcome = slipway("keys", *arguments)
    assert outcome.status == 2
    assert said in outcome.stderr
