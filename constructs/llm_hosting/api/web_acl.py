"""The web ACL (AWS WAF) in front of the API.

It judges how often an address calls, how large a body is, and paths, queries and headers. It never judges what a body
says: a chat about SQL injection or a script tag is no attack, and AWS's rules could not tell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

from ..deployment.settings.api import Api
from .cors import headers_of_gateway
from .gateway_responses import BODY_TOO_LARGE, THROTTLED, GatewayResponse

_WINDOW_IN_SECONDS = 300
_FEWEST_REQUESTS = 100  # the smallest limit that every region takes
_INSPECTED_IN_KB = (16, 32, 48, 64)  # how much of a body WAF sees; 16 is the default, more costs more per request
_TOO_OFTEN = replace(THROTTLED, retry_after_in_seconds=60)  # WAF looks back at minutes, not at a second

# The rules of AWS's groups that read bodies. NoUserAgent counts, too: many programs send none. AWS tells of new rules
# in its "AWS Managed Rules changelog".
_COUNTED = {
    "AWSManagedRulesCommonRuleSet": (
        "CrossSiteScripting_BODY",
        "EC2MetaDataSSRF_BODY",
        "GenericLFI_BODY",
        "GenericRFI_BODY",
        "SizeRestrictions_BODY",
        "NoUserAgent_HEADER",
    ),
    "AWSManagedRulesKnownBadInputsRuleSet": ("JavaDeserializationRCE_BODY", "Log4JRCE_BODY", "ReactJSRCE_BODY"),
}


class WebAcl(Construct):
    """`arn` is that of the ACL. takes_files: whether the API has POST /files, whose bodies may be larger."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Api, takes_files: bool) -> None:
        super().__init__(scope, construct_id)
        inspected = next((each for each in _INSPECTED_IN_KB if each >= settings.max_body_in_kb), None)
        rules = [
            _own("Rate", _by_address(settings), _TOO_OFTEN, settings),
            *([_own("BodySize", _larger(settings, takes_files), BODY_TOO_LARGE, settings)] if inspected else []),
            *(_managed(group, counted) for group, counted in _COUNTED.items()),
        ]
        acl = wafv2.CfnWebACL(
            self,
            "Acl",
            scope="REGIONAL",
            default_action={"allow": {}},
            visibility_config=_visible("All"),
            rules=[{"priority": number, **rule} for number, rule in enumerate(rules)],
            custom_response_bodies={
                each.code: {"contentType": "APPLICATION_JSON", "content": each.template}
                for each in (_TOO_OFTEN, *([BODY_TOO_LARGE] if inspected else []))
            },
            association_config=inspected
            and {"requestBody": {"API_GATEWAY": {"defaultSizeInspectionLimit": f"KB_{inspected}"}}},
        )
        self.arn: str = acl.attr_arn


def associate(scope: Construct, construct_id: str, *, stage: apigateway.Stage, acl_arn: str) -> None:
    """Put a web ACL in front of a stage."""
    api = stage.rest_api.rest_api_id
    wafv2.CfnWebACLAssociation(
        scope,
        construct_id,
        web_acl_arn=acl_arn,
        resource_arn=f"arn:{cdk.Aws.PARTITION}:apigateway:{cdk.Aws.REGION}::/restapis/{api}/stages/{stage.stage_name}",
    )


def _by_address(settings: Api) -> dict[str, Any]:
    """Return the statement on an address that sends more than the API's whole throttle lets through."""
    limit = max(_FEWEST_REQUESTS, round(settings.throttle.rate * _WINDOW_IN_SECONDS))
    return {
        "rateBasedStatement": {
            "limit": limit,
            "aggregateKeyType": "IP",
            "evaluationWindowSec": _WINDOW_IN_SECONDS,
        }
    }


def _larger(settings: Api, takes_files: bool) -> dict[str, Any]:
    """Return the statement on a body that the API would refuse. WAF sees no end of a body beyond what it inspects."""
    as_they_are = [{"priority": 0, "type": "NONE"}]
    larger = {
        "sizeConstraintStatement": {
            "fieldToMatch": {"body": {"oversizeHandling": "MATCH"}},
            "comparisonOperator": "GT",
            "size": settings.max_body_in_kb * 1024,
            "textTransformations": as_they_are,
        }
    }
    if not takes_files:
        return larger
    files = {
        "byteMatchStatement": {
            "fieldToMatch": {"uriPath": {}},
            "positionalConstraint": "ENDS_WITH",
            "searchString": "/files",
            "textTransformations": as_they_are,
        }
    }
    return {"andStatement": {"statements": [larger, {"notStatement": {"statement": files}}]}}


def _own(name: str, statement: Mapping[str, Any], answer: GatewayResponse, settings: Api) -> dict[str, Any]:
    headers = answer.headers | (headers_of_gateway(settings.cors) if settings.cors else {})
    response = {
        "responseCode": answer.status,
        "customResponseBodyKey": answer.code,
        # Only fixed values: WAF knows no id of the request.
        "responseHeaders": [
            {"name": name, "value": value.strip("'")} for name, value in headers.items() if value.startswith("'")
        ],
    }
    return {
        "name": name,
        "statement": statement,
        "action": {"block": {"customResponse": response}},
        "visibilityConfig": _visible(name),
    }


def _managed(group: str, counted: Sequence[str]) -> dict[str, Any]:
    return {
        "name": group,
        "statement": {
            "managedRuleGroupStatement": {
                "vendorName": "AWS",
                "name": group,
                "ruleActionOverrides": [{"name": each, "actionToUse": {"count": {}}} for each in counted],
            }
        },
        "overrideAction": {"none": {}},
        "visibilityConfig": _visible(group),
    }


def _visible(metric: str) -> dict[str, Any]:
    # Samples would show headers and paths of requests to readers of the console.
    return {"cloudWatchMetricsEnabled": True, "metricName": metric, "sampledRequestsEnabled": False}
