"""API keys and usage plans: keys from an authorizer, quotas by calendar period, refusals of the control plane."""

import functools
import json
import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

from local_cloud.emulator.apigateway.errors import gateway_error
from local_cloud.emulator.apigateway.rest_call import current_call
from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.lambda_.functions import function_allows

_gateway = ministack.internals(
    "ministack.services.apigateway_v1",
    "_api_key_from_request",
    "_api_keys",
    "_arn_matches",
    "_authorize_request_v1",
    "_check_quota",
    "_create_api_key",
    "_create_usage_plan_key",
    "_delete_api_key",
    "_extract_lambda_ref_from_integration_uri",
    "_invoke_authorizer_lambda",
    "_resolve_api_key",
    "_rest_apis",
    "_update_api_key",
    "_usage_plan_keys",
    "_usage_plans",
    "_usage_plans_for_key",
    "_v1_error",
    "handle_request",
)

# Travels with the authorizer's context, which MiniStack keeps for the time of `authorizerResultTtlInSeconds`.
_USAGE_KEY = "usageIdentifierKey "
_usage: Counter[tuple[str, str, date]] = Counter()  # requests by plan, key and day


async def _authorize(original: Any, api_id: str, *args: Any) -> Any:
    error, context = await original(api_id, *args)
    call = current_call()
    if call and isinstance(context, dict):
        context = dict(context)
        call.usage_key = context.pop(_USAGE_KEY, "")
        call.authorizer_context = context
        if _is_from_authorizer(api_id):
            key = _gateway._resolve_api_key(call.usage_key)
            call.api_key = {"apiKey": key["value"], "apiKeyId": key["id"]} if key else {}
    return error, context


async def _invoke_authorizer(original: Any, authorizer: dict[str, Any], event: Any, account: str, region: str) -> Any:
    function = _gateway._extract_lambda_ref_from_integration_uri(authorizer.get("authorizerUri", ""))
    api_id = event["methodArn"].split(":")[5].split("/")[0]
    source = f"arn:aws:execute-api:{region}:{account}:{api_id}/authorizers/{authorizer['id']}"
    if not function_allows("apigateway.amazonaws.com", function, source):
        return None  # the API is configured wrongly
    result = await original(authorizer, event, account, region)
    answer = result.get("body") if result and not result.get("error") else None
    if not isinstance(answer, dict):
        return result
    context, key = answer.get("context") or {}, answer.get("usageIdentifierKey") or ""
    plain = (str, int, float, bool)
    if not isinstance(context, dict) or not all(isinstance(each, plain) for each in (key, *context.values())):
        return {"body": None}
    return result | {"body": answer | {"context": context | ({_USAGE_KEY: key} if key else {})}}


def _is_from_authorizer(api_id: str) -> bool:
    return bool((_gateway._rest_apis.get(api_id) or {}).get("apiKeySource") == "AUTHORIZER")


def _key_of_request(original: Any, headers: Any) -> str:
    call = current_call()
    return call.usage_key if call and _is_from_authorizer(call.api_id) else str(original(headers))


def _today() -> date:
    return datetime.fromtimestamp(clock.now(), UTC).date()


def _first_day(period: str) -> date:
    """The first day of the current calendar period."""
    today = _today()
    match period:
        case "MONTH":
            return today.replace(day=1)
        case "WEEK":
            return today - timedelta(days=(today.weekday() + 1) % 7)  # weeks begin on Sunday
    return today


def _used(plan: str, key: str, first: date) -> int:
    return sum(count for each, count in _usage.items() if each[:2] == (plan, key) and each[2] >= first)


def _check_quota(key: dict[str, Any] | None, api_id: str, stage: str) -> Any:
    if key is None:
        return None
    plans = _gateway._usage_plans_for_key(key["id"], api_id, stage)
    for plan_id, plan, _ in plans:
        quota = plan.get("quota") or {}
        if "limit" in quota and _used(plan_id, key["id"], _first_day(quota["period"])) >= int(quota["limit"]):
            return gateway_error("QUOTA_EXCEEDED", "Limit Exceeded")
    for plan_id, _, _ in plans:
        _usage[plan_id, key["id"], _today()] += 1
    return None


def _usage_of(plan_id: str, query: dict[str, Any]) -> ministack.Answer:
    plan = _gateway._usage_plans.get(plan_id)
    if not plan:
        return _error("NotFoundException", "Invalid Usage Plan identifier specified", 404)
    asked = {name: value[0] if isinstance(value, list) else value for name, value in query.items()}
    try:
        first, last = date.fromisoformat(asked["startDate"]), date.fromisoformat(asked["endDate"])
    except (KeyError, ValueError):
        return _error("BadRequestException", "Usage needs a start date and an end date", 400)
    quota = plan.get("quota") or {}
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    values = {}
    for key in _gateway._usage_plan_keys.get(plan_id, {}):
        if asked.get("keyId", key) == key and any(_usage[plan_id, key, day] for day in days):
            left = int(quota.get("limit", 0)) - _used(plan_id, key, _first_day(quota.get("period", "DAY")))
            values[key] = [[_usage[plan_id, key, day], max(0, left)] for day in days]
    shown = {"usagePlanId": plan_id, "startDate": asked["startDate"], "endDate": asked["endDate"], "values": values}
    return 200, {"Content-Type": "application/json"}, json.dumps(shown).encode()


async def _handle(original: Any, method: str, path: str, headers: Any, body: bytes, query: dict[str, Any]) -> Any:
    parts = path.strip("/").split("/")
    if method == "GET" and parts[0] == "usageplans" and parts[2:] == ["usage"]:
        return _usage_of(parts[1], query)
    answer = await original(method, path, headers, body, query)
    wants = "true" in str(query.get("includeValue" if len(parts) == 2 else "includeValues", "")).lower()
    if method in ("GET", "PATCH") and parts[0] == "apikeys" and answer[0] == 200 and not wants:
        shown = json.loads(answer[2])
        for key in shown.get("item", [shown]):
            key.pop("value", None)
        return answer[0], answer[1], json.dumps(shown).encode()
    return answer


def _error(code: str, message: str, status: int) -> ministack.Answer:
    answer: ministack.Answer = _gateway._v1_error(code, message, status)
    return answer


def _create_key(original: Any, data: dict[str, Any]) -> Any:
    value = data.get("value")
    if value is not None and any(each["value"] == value for each in _gateway._api_keys.values()):
        return _error("ConflictException", "API Key already exists", 409)
    return original(data)


def _update_key(original: Any, key_id: str, data: dict[str, Any]) -> Any:
    for each in data.get("patchOperations", []):
        if each.get("path") == "/enabled":
            each["value"] = str(each.get("value")).lower() == "true"
    return original(key_id, data)


def _delete_key(original: Any, key_id: str) -> Any:
    for keys in _gateway._usage_plan_keys.values():
        keys.pop(key_id, None)
    return original(key_id)


def _add_to_plan(original: Any, plan_id: str, data: dict[str, Any]) -> Any:
    key = data.get("keyId", "")
    if plan_id in _gateway._usage_plans and key not in _gateway._api_keys:
        return _error("NotFoundException", "Invalid API Key identifier specified", 404)
    for stage in (_gateway._usage_plans.get(plan_id) or {}).get("apiStages", []):
        if _gateway._usage_plans_for_key(key, stage["apiId"], stage["stage"]):
            return _error("ConflictException", f"Usage Plan {plan_id}: the key has a plan for one of its stages", 409)
    return original(plan_id, data)


def complete_api(api_id: str, properties: dict[str, Any]) -> None:
    """Set an API's ApiKeySourceType, which MiniStack leaves out of a new API."""
    _gateway._rest_apis[api_id]["apiKeySource"] = properties.get("ApiKeySourceType", "HEADER")


def check_authorizer(properties: dict[str, Any]) -> None:
    """Refuse an authorizer that AWS refuses."""
    kind = properties.get("Type")
    if kind in ("TOKEN", "REQUEST") and not properties.get("AuthorizerUri"):
        raise ValueError("Invalid authorizer URI")
    if kind == "TOKEN" and not str(properties.get("IdentitySource", "")).startswith("method.request.header."):
        raise ValueError("Invalid mapping expression specified: a TOKEN authorizer's identity source is a header")
    if not 0 <= int(properties.get("AuthorizerResultTtlInSeconds", 300)) <= 3600:
        raise ValueError("Authorizer result TTL must be between 0 and 3600 seconds")


def _arn_matches(pattern: str, arn: str) -> bool:
    """Match like a policy, whose `*` and `?` also match a line feed, which a path parameter may hold."""
    regex = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(regex, arn, re.DOTALL) is not None


def install() -> None:
    ministack.follow_clock(_gateway)
    _gateway._arn_matches = _arn_matches
    _gateway._api_key_from_request = functools.partial(_key_of_request, _gateway._api_key_from_request)
    _gateway._authorize_request_v1 = functools.partial(_authorize, _gateway._authorize_request_v1)
    _gateway._create_api_key = functools.partial(_create_key, _gateway._create_api_key)
    _gateway._create_usage_plan_key = functools.partial(_add_to_plan, _gateway._create_usage_plan_key)
    _gateway._delete_api_key = functools.partial(_delete_key, _gateway._delete_api_key)
    _gateway._invoke_authorizer_lambda = functools.partial(_invoke_authorizer, _gateway._invoke_authorizer_lambda)
    _gateway._update_api_key = functools.partial(_update_key, _gateway._update_api_key)
    _gateway.handle_request = functools.partial(_handle, _gateway.handle_request)
    _gateway._check_quota = _check_quota
