"""Who gets through to a deployed API: VPC endpoints, networks, accounts, domain and web ACL, by real HTTP."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials

from local_cloud.api_client import ApiClient
from local_cloud.callers import SOURCE_HEADER
from local_cloud.cloud import Credentials, LocalCloud
from support.command import Command
from support.stacks.deployed_stacks import Apis, assert_refused

PUBLIC, PRIVATE = "front-door", "private"
INPUT = {"inputs": "A list of"}
ENDPOINTS = ["vpce-0a1b2c3d4e5f60718", "vpce-1a2b3c4d5e6f70819"]


@pytest.fixture(scope="module")
def public(apis: Apis) -> ApiClient:
    return apis(PUBLIC)


@pytest.fixture(scope="module")
def private(apis: Apis) -> ApiClient:
    return apis(PRIVATE)


def at(client: ApiClient, address: str) -> ApiClient:
    """Return the same caller at another address."""
    return replace(client, headers={SOURCE_HEADER: address})


def test_the_domain_leads_to_the_api(public: ApiClient) -> None:
    assert "/_aws/domain/llm.example.com/" in public.url
    assert public.call("POST", "/generate", INPUT)[0] == 200


def test_the_host_header_of_the_domain_leads_to_the_api(public: ApiClient, cloud: LocalCloud) -> None:
    headers = {"host": "llm.example.com", "x-api-key": public.api_key, **public.headers}
    answer = requests.get(f"{cloud.url}/endpoint", headers=headers, timeout=30)
    assert (answer.status_code, answer.json()["status"]) == (200, "InService")


@pytest.mark.parametrize(
    ("address", "status"), [("203.0.113.77", 200), ("198.51.100.7", 200), ("198.51.100.8", 403), ("127.0.0.1", 403)]
)
def test_a_key_works_from_the_named_networks_only(public: ApiClient, address: str, status: int) -> None:
    answer = at(public, address).call("GET", "/endpoint")
    assert answer[0] == status
    if status == 403:
        assert_refused(answer, 403, "access_denied", "its policy lets in certain accounts, addresses or VPC endpoints")


@pytest.mark.parametrize(
    ("method", "path", "admitted"),
    [("GET", "", 200), ("GET", "playground/style.css", 200), ("OPTIONS", "generate", 204), ("GET", "none", 404)],
)
def test_networks_close_the_open_routes_too(public: ApiClient, method: str, path: str, admitted: int) -> None:
    def status(address: str) -> int:
        headers = {SOURCE_HEADER: address, "origin": "https://chat.example.com", "content-type": "application/json"}
        return requests.request(method, public.url + path, headers=headers, timeout=30).status_code

    assert (status("203.0.113.1"), status("192.0.2.1")) == (admitted, 403)


def test_a_wrong_key_is_refused_as_such_from_a_named_network(public: ApiClient) -> None:
    answer = replace(public, api_key="x" * 40).call("GET", "/endpoint")
    assert_refused(answer, 401, "invalid_api_key")


def test_the_web_acl_refuses_a_body_that_the_api_would_refuse(public: ApiClient) -> None:
    status, headers, body = public.call("POST", "/generate", {"inputs": "x" * 50_000})
    assert (status, body["error"]["code"]) == (413, "body_too_large")
    assert "x-request-id" not in headers, "the answer is the ACL's own"
    assert headers["access-control-allow-origin"] == "https://chat.example.com"


def test_the_web_acl_lets_a_larger_file_pass(public: ApiClient) -> None:
    line = {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "a"}}
    lines = (json.dumps(line) + "\n").encode() * 600
    headers = {"authorization": f"Bearer {public.api_key}", **public.headers}
    sent: dict[str, Any] = {"files": {"file": ("lines.jsonl", lines)}, "data": {"purpose": "batch"}}
    answer = requests.post(f"{public.url}files", **sent, headers=headers, timeout=30)
    assert answer.status_code == 200, answer.text


def test_a_prompt_about_attacks_is_answered(public: ApiClient) -> None:
    prompt = "Why is <script>alert(1)</script> or ' OR 1=1 -- or ${jndi:ldap://a} or ../../etc/passwd dangerous?"
    assert public.call("POST", "/generate", {"inputs": prompt})[0] == 200


def test_an_address_that_calls_too_often_is_refused_until_it_slows_down(public: ApiClient, cloud: LocalCloud) -> None:
    address = {SOURCE_HEADER: "203.0.113.200"}
    with requests.Session() as session:
        statuses = [session.get(f"{public.url}none", headers=address, timeout=30).status_code for _ in range(120)]
        assert set(statuses) == {404}, "as many as the API's throttle lets through in five minutes"
        refused = session.get(f"{public.url}none", headers=address, timeout=30)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "throttled")
    assert refused.headers["retry-after"] == "60"
    assert at(public, "203.0.113.201").call("GET", "/endpoint")[0] == 200
    cloud.advance(301)
    assert requests.get(f"{public.url}none", headers=address, timeout=30).status_code == 404


def through(client: ApiClient, endpoint: str | None) -> ApiClient:
    """Return the same caller behind another VPC endpoint, or on the internet."""
    own = f"-{ENDPOINTS[0]}"
    assert own in client.url
    return replace(client, url=client.url.replace(own, f"-{endpoint}" if endpoint else ""))


def test_a_private_api_is_called_through_its_vpc_endpoints(private: ApiClient) -> None:
    assert private.call("POST", "/generate", INPUT)[0] == 200
    assert through(private, ENDPOINTS[1]).call("GET", "/endpoint")[0] == 200


@pytest.mark.parametrize("endpoint", [None, "vpce-0000000000000000a"])
def test_a_private_api_is_closed_without_a_named_endpoint(private: ApiClient, endpoint: str | None) -> None:
    status, headers, body = through(private, endpoint).call("GET", "/endpoint")
    assert (status, body) == (403, {"message": "Forbidden"})
    assert headers["x-amzn-errortype"] == "ForbiddenException"


def id_of(private: ApiClient) -> str:
    return urlsplit(private.url).path.split("/")[3].partition("-")[0]


@pytest.mark.parametrize(("endpoint", "status"), [(ENDPOINTS[0], 200), ("vpce-0000000000000000a", 403)])
def test_the_policy_judges_calls_by_an_endpoints_own_name(
    private: ApiClient, cloud: LocalCloud, endpoint: str, status: int
) -> None:
    host = f"{endpoint}-abcd.execute-api.us-east-1.vpce.amazonaws.com"
    request = AWSRequest("GET", f"http://{host}/v1/endpoint", headers={"x-apigw-api-id": id_of(private)})
    assert private.credentials
    key = BotocoreCredentials(private.credentials.access_key_id, private.credentials.secret_access_key)
    SigV4Auth(key, "execute-api", private.region).add_auth(request)
    headers = {**dict(request.headers), "host": host, **private.headers}
    assert requests.get(f"{cloud.url}/v1/endpoint", headers=headers, timeout=30).status_code == status


def test_addresses_of_a_private_api_are_those_in_the_vpc(private: ApiClient) -> None:
    assert at(private, "10.20.3.4").call("GET", "/endpoint")[0] == 200
    assert_refused(at(private, "10.21.0.1").call("GET", "/endpoint"), 403, "access_denied")


@pytest.fixture(scope="module")
def accounts(cloud: LocalCloud) -> dict[str, Credentials]:
    """Return an administrator of each account: the stack's own, a named one, one of nobody's."""
    return {
        "own": cloud.deployer,
        "named": cloud.deployer_in("444455556666"),
        "strange": cloud.deployer_in("777788889999"),
    }


@pytest.mark.parametrize(
    ("account", "may_call", "status"),
    [
        ("own", True, 200),
        ("own", False, 403),
        ("named", True, 200),
        ("named", False, 403),
        ("strange", True, 403),
    ],
)
def test_callers_of_other_accounts_need_the_policy_and_one_of_their_own(
    cloud: LocalCloud, private: ApiClient, accounts: dict[str, Credentials], account: str, may_call: bool, status: int
) -> None:
    action = "execute-api:Invoke" if may_call else "sts:GetCallerIdentity"
    statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
    user = cloud.create_user("caller", [statement], by=accounts[account])
    answer = replace(private, credentials=user).call("GET", "/endpoint")
    assert answer[0] == status, answer


@pytest.mark.parametrize("name", [PUBLIC, PRIVATE])
def test_the_operators_verbs_pass(slipway: Command, apis: Apis, name: str) -> None:
    apis(name)
    verified = slipway("verify", name)
    assert verified.status == 0, verified.stdout
    shown = slipway("status", name)
    assert shown.status == 0, shown.stderr
    described = slipway("openapi", name)
    assert json.loads(described.stdout)["servers"][0]["url"] in apis(name).url


def test_a_changed_policy_waits_for_a_deployment(cloud: LocalCloud, private: ApiClient) -> None:
    gateway, api_id = cloud.client("apigateway", region=private.region), id_of(private)
    patch = [{"op": "replace", "path": "/policy", "value": json.dumps({"Version": "2012-10-17", "Statement": []})}]
    gateway.update_rest_api(restApiId=api_id, patchOperations=patch)
    assert at(private, "10.21.0.1").call("GET", "/endpoint")[0] == 403
    gateway.create_deployment(restApiId=api_id, stageName="v1")
    assert at(private, "10.21.0.1").call("GET", "/endpoint")[0] == 200
