"""An API with a user pool of its own: its client's tokens pass, those of another pool and client don't."""

from dataclasses import replace

import pytest
import requests

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.callers import SOURCE_HEADER
from local_cloud.cloud import LocalCloud
from slipway.stack.deployed_stack import find_stack
from support.command import Command
from support.stacks.deployed_stacks import Apis, assert_refused

NAME = "with-user-pool"


@pytest.fixture(scope="module")
def api(apis: Apis) -> ApiClient:
    return apis(NAME)


def token_of(cloud: LocalCloud, region: str, pool: str, client: str) -> str:
    """Return a token of a pool's client, as a program asks for it."""
    cognito = cloud.client("cognito-idp", region=region)
    described = cognito.describe_user_pool_client(UserPoolId=pool, ClientId=client)["UserPoolClient"]
    answer = requests.post(
        f"{cloud.url}/oauth2/token",
        data={"grant_type": "client_credentials", "scope": "slipway/call"},
        auth=(client, described["ClientSecret"]),
        timeout=30,
    )
    return str(answer.json()["access_token"])


def new_client(cloud: LocalCloud, region: str, pool: str) -> str:
    """Make a client like the stack's in a pool, and return its id."""
    made = cloud.client("cognito-idp", region=region).create_user_pool_client(
        UserPoolId=pool,
        ClientName="another",
        GenerateSecret=True,
        AllowedOAuthFlows=["client_credentials"],
        AllowedOAuthScopes=["slipway/call"],
        AllowedOAuthFlowsUserPoolClient=True,
    )
    return str(made["UserPoolClient"]["ClientId"])


@pytest.fixture(scope="module")
def outputs(api: ApiClient, cloud: LocalCloud, stacks: dict[str, Stack]) -> dict[str, str]:
    return find_stack(NAME, lambda service: cloud.client(service, region=stacks[NAME].region)).outputs


def test_an_operator_s_command_gets_a_token_by_itself(api: ApiClient, slipway: Command) -> None:
    called = slipway("call", NAME, "The sea is", "--max-tokens", "3")
    assert called.status == 0, called.stderr


def test_a_program_calls_with_a_token_of_the_client(api: ApiClient, cloud: LocalCloud, outputs: dict[str, str]) -> None:
    token = token_of(cloud, api.region, outputs["UserPoolId"], outputs["TokenClientId"])
    assert replace(api, token=token).call("GET", "/models")[0] == 200


def test_a_token_counts_only_from_the_named_network_and_through_the_named_endpoint(
    api: ApiClient, cloud: LocalCloud, outputs: dict[str, str]
) -> None:
    """API Gateway judges its policy first; an authorizer's Allow doesn't outweigh a Deny there."""
    token = token_of(cloud, api.region, outputs["UserPoolId"], outputs["TokenClientId"])
    caller = replace(api, token=token)
    assert caller.call("GET", "/models")[0] == 200
    elsewhere = replace(caller, headers={SOURCE_HEADER: "10.21.0.1"})
    assert_refused(elsewhere.call("GET", "/models"), 403, "access_denied")
    public = replace(caller, url=caller.url.replace("-vpce-0a1b2c3d4e5f60718", ""))
    assert public.url != caller.url
    assert public.call("GET", "/models")[0] == 403
    assert_refused(api.call("GET", "/models"), 401, "invalid_token")


def test_another_client_of_the_pool_is_refused(api: ApiClient, cloud: LocalCloud, outputs: dict[str, str]) -> None:
    pool = outputs["UserPoolId"]
    token = token_of(cloud, api.region, pool, new_client(cloud, api.region, pool))
    assert replace(api, token=token).call("GET", "/models")[0] == 401


def test_another_pool_is_refused(api: ApiClient, cloud: LocalCloud) -> None:
    cognito = cloud.client("cognito-idp", region=api.region)
    pool = cognito.create_user_pool(PoolName="another")["UserPool"]["Id"]
    scopes = [{"ScopeName": "call", "ScopeDescription": "Call"}]
    cognito.create_resource_server(UserPoolId=pool, Identifier="slipway", Name="slipway", Scopes=scopes)
    token = token_of(cloud, api.region, pool, new_client(cloud, api.region, pool))
    assert replace(api, token=token).call("GET", "/models")[0] == 401
    cognito.delete_user_pool(UserPoolId=pool)
