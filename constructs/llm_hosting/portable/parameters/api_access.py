"""Parameters that let other accounts call the API, with a resource policy beside the callers' own IAM policies."""

from collections.abc import Iterator
from typing import Any

from ...deployment.model import Deployment
from ..editing.conditions import only_if
from ..editing.places import Template, of_type
from .parameter import Parameter

_PRINCIPALS, _ORGANIZATION = "PrincipalsAreAllowed", "OrganizationIsAllowed"
_PRINCIPAL = "([0-9]{12}|arn:[a-z-]+:(iam|sts)::[0-9]{12}:[A-Za-z0-9_+=.@/-]+)"
_DEPLOYED = "A change acts once the API is deployed anew: by a template that was rendered with the new value."


def parameters(deployment: Deployment) -> Iterator[Parameter]:
    """Return no parameters unless `auth: iam`: only it identifies callers, so only then is there anything to allow."""
    if deployment.api.auth != "iam":
        return
    yield Parameter(
        "AllowedPrincipals",
        "String",
        "Accounts, roles or users (12 digits or ARNs, commas between) that may call the API. Those of other "
        "accounts need a policy of their own, too; callers of the stack's account need no entry. Empty = none. "
        + _DEPLOYED,
        default="",
        pattern=rf"^({_PRINCIPAL}(,{_PRINCIPAL})*)?$",
        places=(_restrict,),
        conditions={_PRINCIPALS: _is_given({"Ref": "AllowedPrincipals"})},
    )
    yield Parameter(
        "AllowedOrganizationId",
        "String",
        "Organization (o-...) whose accounts may call the API; callers need a policy of their own, too. Empty = none. "
        + _DEPLOYED,
        default="",
        pattern="^(o-[a-z0-9]{10,32})?$",
        conditions={_ORGANIZATION: _is_given({"Ref": "AllowedOrganizationId"})},
    )


def _is_given(value: Any) -> dict[str, Any]:
    return {"Fn::Not": [{"Fn::Equals": [value, ""]}]}


def _restrict(template: Template) -> None:
    """Add the resource policy. It changes nothing for callers of the API's own account.

    Within an account an Allow in either policy is enough. Across accounts it takes both (API Gateway Developer Guide,
    "How API Gateway resource policies affect authorization workflow", tables A and B). So the organization's statement
    leaves out the API's own account, where it would admit callers without a policy of their own. The policy exists even
    if it names nobody: CloudFormation keeps an API's policy when the property is removed (aws-cdk#21840), and callers
    who were named before would stay admitted.
    """
    (stage,) = of_type(template, "AWS::ApiGateway::Stage").values()
    # The ARN would refer to the API itself. API Gateway completes this short form.
    every_route = f"execute-api:/{stage['Properties']['StageName']}/*"
    # A text instead of a list, because the User Guide does not allow Fn::Join in conditions.
    listed = _allow(every_route, {"AWS": {"Fn::Split": [",", {"Ref": "AllowedPrincipals"}]}})
    organization = _allow(every_route, {"AWS": "*"}) | {
        "Condition": {
            "StringEquals": {"aws:PrincipalOrgID": {"Ref": "AllowedOrganizationId"}},
            "StringNotEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}},
        }
    }
    plain = {"Bool": {"aws:SecureTransport": "false"}}  # always true: the API takes TLS only
    neutral = _statement("Deny", every_route, {"AWS": "*"}) | {"Condition": plain}
    statements = [neutral, only_if(_PRINCIPALS, listed), only_if(_ORGANIZATION, organization)]
    # A policy would close the page's routes, which need no authorization, to everybody whom it does not name.
    open_routes = [f"execute-api:/{stage['Properties']['StageName']}/{route}" for route in _open_routes(template)]
    statements += [_allow(route, {"AWS": "*"}) for route in open_routes]
    for api in of_type(template, "AWS::ApiGateway::RestApi").values():
        api["Properties"]["Policy"] = {"Version": "2012-10-17", "Statement": statements}


def _open_routes(template: Template) -> list[str]:
    """Return method and path of the routes without authorization, as a policy names them."""
    resources = template["Resources"]

    def path(resource: dict[str, Any]) -> str:
        if "Ref" not in resource:  # the root of the API
            return ""
        properties = resources[resource["Ref"]]["Properties"]
        part = "*" if properties["PathPart"].startswith("{") else properties["PathPart"]
        return f"{path(properties['ParentId'])}/{part}"

    methods = [each["Properties"] for each in of_type(template, "AWS::ApiGateway::Method").values()]
    open_ = [each for each in methods if each["AuthorizationType"] == "NONE"]
    return [f"{each['HttpMethod']}{path(each['ResourceId']) or '/'}" for each in open_]


def _allow(resource: str, principal: dict[str, Any]) -> dict[str, Any]:
    return _statement("Allow", resource, principal)


def _statement(effect: str, resource: str, principal: dict[str, Any]) -> dict[str, Any]:
    return {"Effect": effect, "Principal": principal, "Action": "execute-api:Invoke", "Resource": resource}
