"""Parameters of what stands in front of the API: who may call it, VPC endpoints, domain, web ACL."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...deployment.model import Deployment
from ...deployment.settings.api import Api
from ...deployment.settings.api_edge import ApiDomain
from ...resource_policy import ApiPolicy, resource_policy
from ..editing.conditions import only_if
from ..editing.places import Place, Template, at, in_texts, of_type
from .parameter import Parameter

_PRINCIPALS, _ORGANIZATION = "PrincipalsAreAllowed", "OrganizationIsAllowed"
_PRINCIPAL = "([0-9]{12}|arn:[a-z-]+:(iam|sts)::[0-9]{12}:[A-Za-z0-9_+=.@/-]+)"
_ENDPOINT, _NETWORK = "vpce-[0-9a-f]{8,17}", "[0-9a-f.:]+(/[0-9]+)?"
_DEPLOYED = "A change acts once the API is deployed anew: by a template that was rendered with the new value."
_OWN_ACCOUNT = {"Ref": "AWS::AccountId"}


def parameters(deployment: Deployment) -> Iterator[Parameter]:
    """Return the parameters. Without `auth: iam` nobody knows the accounts of callers, so none can be allowed."""
    api = deployment.api
    found = [*(_of_callers(api) if api.auth == "iam" else ()), *_of_places(api)]
    if found:
        yield replace(found[0], places=(_restrict(api), *found[0].places))
        yield from found[1:]
    if api.domain:
        yield from _of_domain(api.domain)
    if acl := api.waf_acl_arn:
        yield Parameter(
            "WebAclArn",
            "String",
            "Web ACL of scope REGIONAL, in the account and region of the stack.",
            own=acl,
            pattern="^arn:[a-z-]+:wafv2:[a-z0-9-]+:[0-9]{12}:regional/webacl/.+$",
            places=(in_texts(acl, {"Ref": "WebAclArn"}),),
        )


def _of_callers(api: Api) -> Iterator[Parameter]:
    yield Parameter(
        "AllowedPrincipals",
        "String",
        "Accounts, roles or users (12 digits or ARNs, commas between) that may call the API. Those of other "
        "accounts need a policy of their own, too; callers of the stack's account need no entry. Empty = none. "
        + _DEPLOYED,
        default=",".join(api.allow.accounts if api.allow else ()),
        pattern=rf"^({_list(_PRINCIPAL)})?$",
        conditions={_PRINCIPALS: _is_given({"Ref": "AllowedPrincipals"})},
    )
    yield Parameter(
        "AllowedOrganizationId",
        "String",
        "Organization (o-...) whose accounts may call the API; callers need a policy of their own, too. Empty = none. "
        + _DEPLOYED,
        default=(api.allow and api.allow.organization) or "",
        pattern="^(o-[a-z0-9]{10,32})?$",
        conditions={_ORGANIZATION: _is_given({"Ref": "AllowedOrganizationId"})},
    )


def _of_places(api: Api) -> Iterator[Parameter]:
    if api.private:
        first, *_ = given = api.private.vpc_endpoint_ids
        yield Parameter(
            "VpcEndpointIds",
            "String",
            "Interface endpoints of execute-api (vpce-..., commas between) through which callers reach the API. "
            + _DEPLOYED,
            own=",".join(given),
            pattern=rf"^{_list(_ENDPOINT)}$",
            places=(
                at("AWS::ApiGateway::RestApi", "EndpointConfiguration.VpcEndpointIds", _split("VpcEndpointIds")),
                _through_first_endpoint(first),
            ),
        )
    if api.cidrs:
        yield Parameter(
            "AllowedNetworks",
            "String",
            "Networks (such as 203.0.113.0/24, commas between) from which callers must come. " + _DEPLOYED,
            default=",".join(api.cidrs),
            pattern=rf"^{_list(_NETWORK)}$",
        )


def _of_domain(domain: ApiDomain) -> Iterator[Parameter]:
    name, record = {"Ref": "DomainName"}, "AWS::Route53::RecordSet"
    yield Parameter(
        "DomainName",
        "String",
        "Domain name of the API, of this stack alone.",
        own=domain.name,
        pattern="^[a-z0-9.-]{3,64}$",
        places=(
            at("AWS::ApiGateway::DomainName", "DomainName", name),
            at(record, "Name", {"Fn::Join": ["", [name, "."]]}),
        ),
    )
    yield Parameter(
        "CertificateArn",
        "String",
        "Certificate that covers DomainName, in the account and region of the stack.",
        own=domain.certificate_arn,
        pattern="^arn:[a-z-]+:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+$",
        places=(in_texts(domain.certificate_arn, {"Ref": "CertificateArn"}),),
    )
    if domain.zone:
        yield Parameter(
            "HostedZoneId",
            "String",
            "Public hosted zone of DomainName, in the account of the stack.",
            own=domain.zone.id,
            pattern="^Z[A-Z0-9]{1,31}$",
            places=(at(record, "HostedZoneId", {"Ref": "HostedZoneId"}),),
        )


def _restrict(api: Api) -> Place:
    """Return the API's resource policy, with the values of parameters."""

    def put(template: Template) -> None:
        (stage,) = of_type(template, "AWS::ApiGateway::Stage").values()
        policy = ApiPolicy(stage["Properties"]["StageName"])
        statements: list[Any] = [policy.neutral()]
        if api.private:
            statements.append(policy.through(_split("VpcEndpointIds")))
        if api.cidrs:
            statements.append(policy.from_networks(_split("AllowedNetworks"), private=api.private is not None))
        if api.auth == "iam":
            if api.private:
                statements.append(policy.principals([_OWN_ACCOUNT]))
            allowed = {"Ref": "AllowedOrganizationId"}
            statements += [
                only_if(_PRINCIPALS, policy.principals(_split("AllowedPrincipals"))),
                only_if(_ORGANIZATION, policy.organization(allowed, _OWN_ACCOUNT)),
                *(policy.everybody(route) for route in _open_routes(template)),
            ]
        else:
            statements.append(policy.everybody())
        for each in of_type(template, "AWS::ApiGateway::RestApi").values():
            each["Properties"]["Policy"] = resource_policy(statements)

    return put


def _through_first_endpoint(own: str) -> Place:
    """Return the output `ApiUrl` of a private API."""

    def put(template: Template) -> None:
        parts = template["Outputs"]["ApiUrl"]["Value"]["Fn::Join"][1]
        (number,) = (index for index, part in enumerate(parts) if isinstance(part, str) and own in part)
        before, _, after = parts[number].partition(own)
        parts[number : number + 1] = [before, {"Fn::Select": ["0", _split("VpcEndpointIds")]}, after]

    return put


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


def _list(pattern: str) -> str:
    return f"{pattern}(,{pattern})*"


def _split(parameter: str) -> dict[str, Any]:
    # A text instead of a list, because the User Guide does not allow Fn::Join in conditions.
    return {"Fn::Split": [",", {"Ref": parameter}]}


def _is_given(value: Any) -> dict[str, Any]:
    return {"Fn::Not": [{"Fn::Equals": [value, ""]}]}
