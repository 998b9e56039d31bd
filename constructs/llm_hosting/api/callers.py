"""Who may reach the API: its endpoint type, its VPC endpoints and its resource policy."""

from collections.abc import Iterator
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway

from ..deployment.settings.api import Api
from ..resource_policy import ApiPolicy, resource_policy

_STRICT = "STRICT"  # the server name of the TLS handshake must be the API's host
# STRICT would refuse the names https://<api>-<endpoint>.execute-api..., which work without private DNS (API Gateway
# Developer Guide, "Invoke a private API").
_BASIC = "BASIC"


def set_endpoint(api: apigateway.CfnRestApi, settings: Api) -> None:
    """Set the API's endpoint: reached from the internet, or through VPC endpoints only."""
    api.endpoint_access_mode = _BASIC if settings.private else _STRICT
    if settings.private:
        api.endpoint_configuration = apigateway.CfnRestApi.EndpointConfigurationProperty(
            types=["PRIVATE"], vpc_endpoint_ids=settings.private.vpc_endpoint_ids
        )


def policy_of(api: apigateway.RestApi, settings: Api, stage: str) -> dict[str, Any] | None:
    """Return the resource policy of an API that has all its routes; None = it has none."""
    return resource_policy(_statements(api, settings, ApiPolicy(stage))) if settings.has_policy else None


def _statements(api: apigateway.RestApi, settings: Api, policy: ApiPolicy) -> Iterator[dict[str, Any]]:
    yield policy.neutral()
    if settings.private:
        yield policy.through(settings.private.vpc_endpoint_ids)
    if settings.cidrs:
        yield policy.from_networks(settings.cidrs, private=settings.private is not None)
    if settings.auth != "iam":
        # Those who have to pass an authorizer get its explicit answer, which holds for every route.
        yield policy.everybody()
        return
    if settings.private:
        yield policy.principals([cdk.Aws.ACCOUNT_ID])  # it lets in whom the account's own policies let in
    if settings.allow and settings.allow.accounts:
        yield policy.principals(settings.allow.accounts)
    if settings.allow and settings.allow.organization:
        yield policy.organization(settings.allow.organization, cdk.Aws.ACCOUNT_ID)
    yield from (policy.everybody(route) for route in open_routes(api))


def open_routes(api: apigateway.RestApi) -> list[str]:
    """Return method and path of the routes without authorization, as a policy names them."""
    return [
        f"{each.http_method}{_pattern(each.resource.path)}"
        for each in api.methods
        if each.node.default_child.authorization_type == "NONE"
    ]


def _pattern(path: str) -> str:
    return "/".join("*" if part.startswith("{") else part for part in path.split("/"))


def urls_of(api: apigateway.RestApi, settings: Api) -> dict[str, str]:
    """Return the API's own URLs by output; each ends in a slash.

    `ApiUrl` of a private API leads through its first VPC endpoint and works wherever that can be reached, also without
    private DNS.
    """
    if settings.private is None:
        return {"ApiUrl": api.url}
    host = f"{api.rest_api_id}-{settings.private.vpc_endpoint_ids[0]}.execute-api.{cdk.Aws.REGION}.{cdk.Aws.URL_SUFFIX}"
    return {
        "ApiUrl": f"https://{host}/{api.deployment_stage.stage_name}/",
        "ApiUrlWithPrivateDns": api.url,
    }
