"""API keys from an authorizer are refused, counted and limited by usage plans as on AWS."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import REGION, Resources, create, function, resource, role

# The prefix of the token decides how the authorizer answers.
AUTHORIZER = """
def handler(event, context):
    token = event["authorizationToken"].removeprefix("Bearer ")
    print("asked", token)
    if token.startswith("unauthorized"): raise Exception("Unauthorized")
    if token.startswith("crash"): raise ValueError("boom")
    if token.startswith("nested"): return answer(token, "Allow", {"key": {"a": 1}})
    return answer(token, "Deny" if token.startswith("deny") else "Allow", {"key": "name", "limit": 5})

def answer(token, effect, context):
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": "*"}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    return {"principalId": "p", "policyDocument": policy, "context": context, "usageIdentifierKey": token}
"""
ECHO = """
import json
def handler(event, context):
    context = event["requestContext"]
    return {"statusCode": 200, "body": json.dumps([context["authorizer"], context["identity"]["apiKeyId"]])}
"""
BUFFERED = "arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${%s.Arn}/invocations"
UNKNOWN = "x" * 30


def api() -> Resources:
    """One route behind a TOKEN authorizer, a roomy usage plan, and one with a burst and a quota of 2."""
    api_id, root = {"Ref": "Api"}, {"Fn::GetAtt": ["Api", "RootResourceId"]}
    resources: Resources = {
        "Role": role([]),
        "Log": resource("Logs::LogGroup"),
        "Authorize": function(AUTHORIZER, LoggingConfig={"LogGroup": {"Ref": "Log"}}),
        "Echo": function(ECHO),
        "Api": resource("ApiGateway::RestApi", {"Name": "keys", "ApiKeySourceType": "AUTHORIZER"}),
        "Authorizer": resource(
            "ApiGateway::Authorizer",
            {
                "RestApiId": api_id,
                "Name": "keys",
                "Type": "TOKEN",
                "IdentitySource": "method.request.header.Authorization",
                "IdentityValidationExpression": "^Bearer [A-Za-z0-9]{20,128}$",
                "AuthorizerUri": {"Fn::Sub": BUFFERED % "Authorize"},
            },
        ),
        "Method": resource(
            "ApiGateway::Method",
            {
                "RestApiId": api_id,
                "ResourceId": root,
                "HttpMethod": "GET",
                "AuthorizationType": "CUSTOM",
                "AuthorizerId": {"Ref": "Authorizer"},
                "ApiKeyRequired": True,
                "Integration": {
                    "Type": "AWS_PROXY",
                    "IntegrationHttpMethod": "POST",
                    "Uri": {"Fn::Sub": BUFFERED % "Echo"},
                },
            },
        ),
        "Deployment": resource("ApiGateway::Deployment", {"RestApiId": api_id}, DependsOn=["Method"]),
        "Stage": resource(
            "ApiGateway::Stage", {"RestApiId": api_id, "StageName": "v1", "DeploymentId": {"Ref": "Deployment"}}
        ),
    }
    for name in ("Authorize", "Echo"):
        named = {"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": name}}
        resources[f"{name}Permission"] = resource(
            "Lambda::Permission", named | {"Principal": "apigateway.amazonaws.com"}
        )
    stages: dict[str, Any] = {"ApiStages": [{"ApiId": api_id, "Stage": {"Ref": "Stage"}}]}
    limits: dict[str, dict[str, Any]] = {
        "Roomy": {"Throttle": {"RateLimit": 100, "BurstLimit": 100}},
        "Narrow": {"Throttle": {"RateLimit": 1, "BurstLimit": 2}},
        "Counted": {"Quota": {"Limit": 2, "Period": "MONTH"}},
    }
    return resources | {name: resource("ApiGateway::UsagePlan", stages | each) for name, each in limits.items()}


class Keys:
    """The API, and the keys that a test creates."""

    def __init__(self, cloud: LocalCloud, ids: dict[str, str]) -> None:
        self.cloud, self.ids = cloud, ids
        self.client = cloud.client("apigateway", region=REGION)
        self._made = 0

    def create(self, plan: str = "Roomy", prefix: str = "good") -> tuple[str, str]:
        """Create a key in a plan; returns its id and its value."""
        self._made += 1
        value = f"{prefix}{self._made}x".ljust(40, "0")
        key = self.client.create_api_key(name=f"key-{self._made}", value=value, enabled=True)
        self.client.create_usage_plan_key(usagePlanId=self.ids[plan], keyId=key["id"], keyType="API_KEY")
        return key["id"], value

    def get(self, value: str, scheme: str = "Bearer ") -> requests.Response:
        url = f"{self.cloud.url}/_aws/execute-api/{self.ids['Api']}/v1/"
        return requests.get(url, headers={"Authorization": f"{scheme}{value}"}, timeout=30)

    def asked(self, value: str) -> int:
        """The number of times the authorizer was asked about a key."""
        logs = self.cloud.client("logs", region=REGION)
        events = logs.filter_log_events(logGroupName=self.ids["Log"])["events"]
        return sum(f"asked {value}" in each["message"] for each in events)


@pytest.fixture(scope="module")
def keys(bare_cloud: LocalCloud) -> Keys:
    return Keys(bare_cloud, create(bare_cloud, "keys", api()))


def test_a_key_from_the_authorizer_is_looked_up_in_the_plans(keys: Keys) -> None:
    key_id, value = keys.create()
    for _ in range(2):
        assert keys.get(value).json() == [{"key": "name", "limit": "5", "principalId": "p"}, key_id]
    assert keys.asked(value) == 1


@pytest.mark.parametrize("token", ["short", "x" * 129, "not-alphanumeric-but-long-enough"])
def test_garbage_is_refused_before_any_call(keys: Keys, token: str) -> None:
    assert (keys.get(token).status_code, keys.get(UNKNOWN, "Basic ").status_code) == (401, 401)
    assert keys.asked(token) == 0


@pytest.mark.parametrize(("prefix", "status"), [("unauthorized", 401), ("deny", 403), ("crash", 500), ("nested", 500)])
def test_each_answer_of_an_authorizer_has_its_status(keys: Keys, prefix: str, status: int) -> None:
    assert keys.get(keys.create(prefix=prefix)[1]).status_code == status


def test_a_key_opens_only_while_it_is_known_enabled_and_in_a_plan(keys: Keys) -> None:
    assert keys.get(UNKNOWN).status_code == 403
    key_id, value = keys.create()
    for enabled, status in (("false", 403), ("true", 200)):
        keys.client.update_api_key(
            apiKey=key_id, patchOperations=[{"op": "replace", "path": "/enabled", "value": enabled}]
        )
        assert keys.get(value).status_code == status
    keys.client.delete_api_key(apiKey=key_id)
    assert keys.get(value).status_code == 403
    shown = keys.client.get_usage_plan_keys(usagePlanId=keys.ids["Roomy"])["items"]
    assert key_id not in {each["id"] for each in shown}


def test_each_key_has_a_burst_of_its_own(keys: Keys) -> None:
    (_, first), (_, second) = keys.create("Narrow"), keys.create("Narrow")
    assert sorted(keys.get(first).status_code for _ in range(6))[-3:] == [429, 429, 429]
    assert keys.get(second).status_code == 200


def test_a_quota_renews_with_the_calendar(keys: Keys) -> None:
    key_id, value = keys.create("Counted")
    answers = [keys.get(value) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert answers[-1].json() == {"message": "Limit Exceeded"}
    today = datetime.now(UTC).date()
    usage = keys.client.get_usage(
        usagePlanId=keys.ids["Counted"],
        startDate=str(today - timedelta(days=3)),
        endDate=str(today + timedelta(days=40)),
    )
    assert [2, 0] in usage["items"][key_id]
    assert sum(used for used, _ in usage["items"][key_id]) == 2
    keys.cloud.advance(32 * 86_400)
    assert keys.get(value).status_code == 200


def test_values_are_shown_only_when_asked_for(keys: Keys) -> None:
    key_id, value = keys.create()
    assert "value" not in keys.client.get_api_key(apiKey=key_id)
    assert keys.client.get_api_key(apiKey=key_id, includeValue=True)["value"] == value
    assert all("value" not in each for each in keys.client.get_api_keys()["items"])
    shown = keys.client.get_api_keys(includeValues=True, limit=500)["items"]
    assert value in {each["value"] for each in shown}


@pytest.mark.parametrize("plan", ["Roomy", "Narrow"])
def test_a_key_has_one_plan_for_a_stage(keys: Keys, plan: str) -> None:
    key_id, value = keys.create()
    with pytest.raises(ClientError, match="ConflictException"):
        keys.client.create_usage_plan_key(usagePlanId=keys.ids[plan], keyId=key_id, keyType="API_KEY")
    with pytest.raises(ClientError, match="ConflictException"):
        keys.client.create_api_key(name="again", value=value)
