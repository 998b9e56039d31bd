"""What stands in front of the API: endpoint type, resource policy, domain, web ACL."""

import json
from typing import Any

import pytest

from support.deployments.good_one import Changes, resolved
from support.templates.portable_templates import portable, synthesized
from support.templates.resolved_templates import resolved as resolved_template
from support.templates.template_parts import Template, all_of, properties

PUBLIC, PRIVATE = "front-door", "private"
EVERY_ROUTE = "execute-api:/v1/*"


def policy(template: Template) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = properties(template, "ApiGateway::RestApi")["Policy"]["Statement"]
    return found


def the(template: Template, kind: str) -> str:
    """Return the logical id of the only resource of a type."""
    (name,) = (name for name, each in template["Resources"].items() if each["Type"] == f"AWS::{kind}")
    return str(name)


def denials(template: Template) -> list[dict[str, Any]]:
    return [each["Condition"] for each in policy(template)[1:] if each["Effect"] == "Deny"]


def test_a_private_api_is_reached_through_its_vpc_endpoints_only(templates: dict[str, Template]) -> None:
    api, template = properties(templates[PRIVATE], "ApiGateway::RestApi"), templates[PRIVATE]
    ids = ["vpce-0a1b2c3d4e5f60718", "vpce-1a2b3c4d5e6f70819"]
    assert api["EndpointConfiguration"] == {"Types": ["PRIVATE"], "VpcEndpointIds": ids}
    assert api["EndpointAccessMode"] == "BASIC", "STRICT refuses the names of a VPC endpoint"
    assert api["SecurityPolicy"].startswith("SecurityPolicy_TLS13")
    assert {"StringNotEquals": {"aws:SourceVpce": ids}} in denials(template)
    assert {"NotIpAddress": {"aws:VpcSourceIp": ["10.20.0.0/16"]}} in denials(template)
    url = json.dumps(template["Outputs"]["ApiUrl"]["Value"])
    assert f"-{ids[0]}.execute-api." in url
    assert "ApiUrlWithPrivateDns" in template["Outputs"]


def test_other_accounts_are_let_in_without_the_own_one(templates: dict[str, Template]) -> None:
    allowed = [each for each in policy(templates[PRIVATE]) if each["Effect"] == "Allow"]
    assert [each["Principal"]["AWS"] for each in allowed] == [[{"Ref": "AWS::AccountId"}], ["444455556666"], "*"]
    assert allowed[-1]["Condition"] == {
        "StringEquals": {"aws:PrincipalOrgID": "o-a1b2c3d4e5"},
        "StringNotEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}},
    }
    assert {each["Resource"] for each in allowed} == {EVERY_ROUTE}


def test_networks_are_closed_by_a_denial_on_every_route(templates: dict[str, Template]) -> None:
    """An Allow for the networks would leave holders of keys outside of them in, by the authorizer's Allow."""
    _, denied, allowed = policy(templates[PUBLIC])
    assert (denied["Effect"], denied["Principal"], denied["Resource"]) == ("Deny", {"AWS": "*"}, EVERY_ROUTE)
    assert denied["Condition"] == {"NotIpAddress": {"aws:SourceIp": ["203.0.113.0/24", "198.51.100.7/32"]}}
    assert (allowed["Effect"], allowed["Resource"]) == ("Allow", EVERY_ROUTE), "routes without authorization"


def test_a_policy_leaves_the_open_routes_of_a_signed_api_open(synthesized_ones: dict[str, Template]) -> None:
    everybody = [each for each in policy(synthesized_ones["page"]) if each["Principal"] == {"AWS": "*"}]
    open_routes = {each["Resource"] for each in everybody if each["Effect"] == "Allow"}
    assert {"execute-api:/v1/GET/", "execute-api:/v1/GET/playground/*"} <= open_routes
    assert "execute-api:/v1/OPTIONS/generate" in open_routes
    assert not any(each.endswith(("POST/generate", "v1/*")) for each in open_routes)


ONES: dict[str, Changes] = {
    "none": {},
    "page": {
        "api": {"playground": True, "allow": {"accounts": ["444455556666"]}, "cors": {"origins": ["https://a.example"]}}
    },
    "one": {"api": {"allow": {"cidrs": ["203.0.113.0/24"]}}},
    "two": {"api": {"allow": {"cidrs": ["203.0.113.0/24", "198.51.100.0/24"]}}},
    "empty": {"api": {"allow": {}}},
    "waf": {"api": {"waf": True}},
    "waf-large": {"api": {"waf": True, "throttle": {"rate": 1, "burst": 5}}, "jobs": {"enabled": False}},
}


@pytest.fixture(scope="module")
def synthesized_ones(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Template]:
    made = synthesized({name: resolved(each) for name, each in ONES.items()}, tmp_path_factory.mktemp("ones"))
    return {name: stack.template for name, stack in made.items()}


def test_each_policy_has_a_deployment_of_its_own(synthesized_ones: dict[str, Template]) -> None:
    """API Gateway follows a changed policy only after a new deployment."""
    ids = {name: the(each, "ApiGateway::Deployment") for name, each in synthesized_ones.items()}
    assert len({ids[name] for name in ("none", "one", "two", "empty")}) == 4


def test_an_empty_section_has_a_policy_that_restricts_nothing(synthesized_ones: dict[str, Template]) -> None:
    (neutral,) = policy(synthesized_ones["empty"])
    assert neutral["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert "Policy" not in properties(synthesized_ones["none"], "ApiGateway::RestApi")


def test_the_domain_leads_to_the_api_by_a_record_in_the_zone(templates: dict[str, Template]) -> None:
    template = templates[PUBLIC]
    name = properties(template, "ApiGateway::DomainName")
    assert (name["DomainName"], name["EndpointConfiguration"]) == ("llm.example.com", {"Types": ["REGIONAL"]})
    assert (name["SecurityPolicy"].startswith("SecurityPolicy_TLS13"), name["EndpointAccessMode"]) == (True, "STRICT")
    record = properties(template, "Route53::RecordSet")
    target = {"Fn::GetAtt": [the(template, "ApiGateway::DomainName"), "RegionalDomainName"]}
    assert (record["Name"], record["AliasTarget"]["DNSName"]) == ("llm.example.com.", target)
    assert template["Outputs"]["DomainTarget"]["Value"] == target
    assert template["Outputs"]["ApiUrl"]["Value"]["Fn::Join"][1][0] == "https://"
    assert "DisableExecuteApiEndpoint" not in properties(template, "ApiGateway::RestApi")


def rules(template: Template) -> dict[str, dict[str, Any]]:
    return {each["Name"]: each for each in properties(template, "WAFv2::WebACL")["Rules"]}


def test_the_web_acl_judges_no_text_of_a_prompt(templates: dict[str, Template]) -> None:
    """Every managed rule that reads bodies counts only. AWS's table of the groups has these names."""
    counted: set[str] = set()
    for each in rules(templates[PUBLIC]).values():
        group = each["Statement"].get("ManagedRuleGroupStatement")
        if group is None:
            continue
        for override in group["RuleActionOverrides"]:
            assert override["ActionToUse"] == {"Count": {}}
            counted.add(override["Name"])
    assert counted == {
        "CrossSiteScripting_BODY",
        "EC2MetaDataSSRF_BODY",
        "GenericLFI_BODY",
        "GenericRFI_BODY",
        "JavaDeserializationRCE_BODY",
        "Log4JRCE_BODY",
        "NoUserAgent_HEADER",
        "ReactJSRCE_BODY",
        "SizeRestrictions_BODY",
    }


def test_an_address_may_send_what_the_throttle_lets_through(synthesized_ones: dict[str, Template]) -> None:
    limits = {
        name: rules(synthesized_ones[name])["Rate"]["Statement"]["RateBasedStatement"]["Limit"]
        for name in ("waf", "waf-large")
    }
    assert limits == {"waf": 20 * 300, "waf-large": 300}


def test_sizes_are_judged_only_where_the_acl_sees_whole_bodies(
    templates: dict[str, Template], synthesized_ones: dict[str, Template]
) -> None:
    acl = properties(templates[PUBLIC], "WAFv2::WebACL")
    assert acl["AssociationConfig"]["RequestBody"]["API_GATEWAY"]["DefaultSizeInspectionLimit"] == "KB_48"
    assert "BodySize" in rules(templates[PUBLIC])
    assert "BodySize" not in rules(synthesized_ones["waf"]), "the default of 128 kB is more than WAF sees"
    assert "AssociationConfig" not in properties(synthesized_ones["waf"], "WAFv2::WebACL")


def test_a_refusal_by_the_acl_has_our_shape(templates: dict[str, Template]) -> None:
    (filtered,) = (
        each
        for each in all_of(templates[PUBLIC], "ApiGateway::GatewayResponse")
        if each["ResponseType"] == "WAF_FILTERED"
    )
    assert filtered["StatusCode"] == "403"
    assert json.loads(filtered["ResponseTemplates"]["application/json"])["error"]["code"] == "request_filtered"
    own = properties(templates[PUBLIC], "WAFv2::WebACL")["CustomResponseBodies"]
    assert {code: json.loads(each["Content"])["error"]["code"] for code, each in own.items()} == {
        "throttled": "throttled",
        "body_too_large": "body_too_large",
    }


@pytest.mark.parametrize("name", [PUBLIC, PRIVATE])
def test_the_portable_template_has_the_same_policy(
    stacks: dict[str, Any], templates: dict[str, Template], name: str
) -> None:
    made = portable(stacks[name])
    resolved_one = resolved_template(made.content, dict(made.parameters))
    expected = resolved_template(templates[name])
    assert policy(resolved_one) == policy(expected)
