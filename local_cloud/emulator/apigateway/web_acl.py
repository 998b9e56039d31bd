"""The web ACL of a stage: its rules on the rate of an address and on the size of a body. It comes before all else.

Groups of managed rules match nothing here: nobody outside AWS knows their patterns.
"""

from collections import deque
from typing import Any

from local_cloud.emulator.apigateway.errors import gateway_error, refuse
from local_cloud.emulator.apigateway.rest_call import RestCall
from local_cloud.emulator.cloudformation.resource_types import extend_resource_type, register_resource_type
from local_cloud.emulator.core import clock, ministack

_waf = ministack.internals("ministack.services.waf", "_associations", "_resolve_local_web_acl")

_seen: dict[tuple[str, str, str], deque[float]] = {}  # times of requests by ACL, rule and address
_inspected: dict[str, int] = {}  # bytes of a body that an ACL sees, by its ARN


def refusal(call: RestCall) -> ministack.Answer | None:
    """Return the answer of the first rule that blocks the call; None = none does."""
    with ministack.scope(call.account, call.region):
        arn = _waf._associations.get(_stage_arn(call.region, call.api_id, call.stage_name))
        acl = _waf._resolve_local_web_acl(arn)[0] if arn else None
    if acl is None:
        return None
    for rule in sorted(acl["Rules"], key=lambda each: int(each["Priority"])):
        statement, block = rule["Statement"], (rule.get("Action") or {}).get("Block")
        if rate := statement.get("RateBasedStatement"):
            is_met = _is_too_often(call, acl["ARN"], rule["Name"], rate)
        else:
            is_met = _matches(call, statement, _inspected[acl["ARN"]])
        if is_met and block is not None:
            return _blocked(call, acl, block)
    return None


def _stage_arn(region: str, api_id: str, stage: str) -> str:
    return f"arn:aws:apigateway:{region}::/restapis/{api_id}/stages/{stage}"


def _is_too_often(call: RestCall, acl: str, rule: str, rate: dict[str, Any]) -> bool:
    times = _seen.setdefault((acl, rule, call.source_ip), deque())
    now = clock.now()
    while times and times[0] <= now - int(rate.get("EvaluationWindowSec", 300)):
        times.popleft()
    times.append(now)
    return len(times) > int(rate["Limit"])


def _matches(call: RestCall, statement: dict[str, Any], inspected: int) -> bool:
    ((kind, of_kind),) = statement.items()
    match kind:
        case "AndStatement":
            return all(_matches(call, each, inspected) for each in of_kind["Statements"])
        case "NotStatement":
            return not _matches(call, of_kind["Statement"], inspected)
        case "SizeConstraintStatement":
            return call.body_size > min(int(of_kind["Size"]), inspected)
        case "ByteMatchStatement":
            return call.path.endswith(str(of_kind["SearchString"]))
        case _:  # a managed group
            return False


def _check(properties: dict[str, Any]) -> None:
    """Refuse statements that would be judged wrongly here."""
    for rule in properties.get("Rules", []):
        for kind, of_kind in _leaves(rule["Statement"]):
            if not _is_known(kind, of_kind):
                raise ValueError(f"The local cloud knows no {kind} of this form in a web ACL (rule {rule['Name']})")


def _is_known(kind: str, of_kind: dict[str, Any]) -> bool:
    match kind:
        case "RateBasedStatement":
            return bool(of_kind["AggregateKeyType"] == "IP" and "ScopeDownStatement" not in of_kind)
        case "SizeConstraintStatement":
            field = of_kind["FieldToMatch"]
            return bool(of_kind["ComparisonOperator"] == "GT" and field == {"Body": {"OversizeHandling": "MATCH"}})
        case "ByteMatchStatement":
            return bool(of_kind["PositionalConstraint"] == "ENDS_WITH" and "UriPath" in of_kind["FieldToMatch"])
        case _:
            return kind == "ManagedRuleGroupStatement"


def _leaves(statement: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    ((kind, of_kind),) = statement.items()
    inner = of_kind.get("Statements") or ([of_kind["Statement"]] if kind == "NotStatement" else [])
    return [leaf for each in inner for leaf in _leaves(each)] or [(kind, of_kind)]


def _blocked(call: RestCall, acl: dict[str, Any], block: dict[str, Any]) -> ministack.Answer:
    response = block.get("CustomResponse")
    if response is None:
        return refuse(call, gateway_error("WAF_FILTERED", "Forbidden"))
    body = _bodies[acl["ARN"]][response["CustomResponseBodyKey"]]
    kinds = {"APPLICATION_JSON": "application/json", "TEXT_HTML": "text/html", "TEXT_PLAIN": "text/plain"}
    headers = {each["Name"]: each["Value"] for each in response.get("ResponseHeaders", [])}
    return (
        int(response["ResponseCode"]),
        {"Content-Type": kinds[body["ContentType"]], **headers},
        body["Content"].encode(),
    )


_bodies: dict[str, dict[str, Any]] = {}


def _complete(physical_id: str, properties: dict[str, Any]) -> None:
    """Keep what MiniStack leaves out of an ACL."""
    arn = _arn_of(physical_id)
    _bodies[arn] = properties.get("CustomResponseBodies") or {}
    of_api = ((properties.get("AssociationConfig") or {}).get("RequestBody") or {}).get("API_GATEWAY") or {}
    _inspected[arn] = int(of_api.get("DefaultSizeInspectionLimit", "KB_16").removeprefix("KB_")) * 1024


def _arn_of(physical_id: str) -> str:
    name, uid, scope = physical_id.split("|")
    return f"arn:aws:wafv2:{ministack.region()}:{ministack.account_id()}:{scope.lower()}/webacl/{name}/{uid}"


def _associate(_: str, properties: dict[str, Any], __: str) -> tuple[str, dict[str, Any]]:
    """Put an ACL in front of a stage. One of the account that is not on this machine blocks nothing."""
    _waf._associations[properties["ResourceArn"]] = properties["WebACLArn"]
    return f"{properties['WebACLArn']}|{properties['ResourceArn']}", {}


def _disassociate(_: str, properties: dict[str, Any]) -> None:
    _waf._associations.pop(properties["ResourceArn"], None)


def install() -> None:
    extend_resource_type("AWS::WAFv2::WebACL", check=_check, complete=_complete)
    register_resource_type(
        "AWS::WAFv2::WebACLAssociation",
        create=_associate,
        update=lambda physical_id, old, new, stack: _associate("", new, stack),
        delete=_disassociate,
        replaced_by=("ResourceArn", "WebACLArn"),
    )
