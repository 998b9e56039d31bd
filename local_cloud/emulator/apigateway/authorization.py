"""Who may call a REST API: the scope of a signature, IAM policies, and the identity that a function sees."""

import functools
import json
from typing import Any

from local_cloud.emulator.apigateway.errors import gateway_error, refuse
from local_cloud.emulator.apigateway.rest_call import RestCall, current_call
from local_cloud.emulator.core import ministack

_app = ministack.internals("ministack.app", "_enforce_execute_api")
_gateway = ministack.internals(
    "ministack.services.apigateway_v1",
    "_build_lambda_event_v1",
    "_iam_caller_identity",
    "_match_resource_tree",
    "_resolve_api_key",
    "authentication_error_response",
    "method_authorization_type",
)
_signatures = ministack.internals(
    "ministack.core.sigv4", "foreign_authorization_failure", "parse_header_signature", "parse_query_signature"
)
_evaluator = ministack.internals(
    "ministack.core.iam_evaluator",
    "AuthError",
    "authenticate",
    "find_iam_access_key_account",
    "resolve_caller_identity",
    "resolve_principal",
)

_responses = ministack.internals("ministack.core.responses", "_account_from_sts_session")

_IDENTITY_FIELDS = ("accessKey", "accountId", "caller", "user", "userArn", "principalOrgId")


def _enforce(original: Any, api_id: str, stage: str, method: str, path: str, *rest: Any, **named: Any) -> Any:
    decide = functools.partial(original, api_id, stage, method, path, *rest, **named)
    call = current_call()
    if call is None:
        return decide()
    with ministack.scope(call.account, call.region):
        _match_resource(call)
        kind = _gateway.method_authorization_type(api_id, stage, method, path)
        if kind is None:
            return _refuse_foreign_header(call)
        if kind != "AWS_IAM":
            return None
        return _refuse_wrong_scope(call) or _refuse_caller(call, decide())


def _match_resource(call: RestCall) -> None:
    resource, _ = _gateway._match_resource_tree(call.api_id, [part for part in call.path.split("/") if part])
    key = _gateway._resolve_api_key(call.headers.get("x-api-key", ""))
    if resource:
        call.resource_path = resource["path"]
        method = resource["resourceMethods"].get(call.method) or {}
        call.api_key = {"apiKey": key["value"], "apiKeyId": key["id"]} if key and method.get("apiKeyRequired") else {}


def _refuse_foreign_header(call: RestCall) -> ministack.Answer | None:
    """On an unknown route, refuse an `Authorization` header that is not a signature, whatever other routes ask for."""
    header = call.headers.get("authorization", "")
    if not header or header.startswith("AWS4-HMAC-SHA256"):
        return None  # the route is refused when it is executed
    failure = _evaluator.AuthError(*_signatures.foreign_authorization_failure(call.headers))
    answer: ministack.Answer | None = _gateway.authentication_error_response(
        call.api_id, call.stage_name, failure, call.headers, call.query
    )
    return answer


def _signature_scope(call: RestCall) -> tuple[str, str] | None:
    """The (region, service) of the request's signature; None without a readable signature."""
    if call.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256"):
        signature = _signatures.parse_header_signature(call.headers)
    elif "X-Amz-Signature" in call.query:
        signature = _signatures.parse_query_signature(call.query)
    else:
        return None
    return None if isinstance(signature, tuple) else (signature.region, signature.service)


def _refuse_wrong_scope(call: RestCall) -> ministack.Answer | None:
    region, service = _signature_scope(call) or (call.region, "execute-api")
    if region != call.region:
        message = f"Credential should be scoped to a valid region, not '{region}'. "
    elif service != "execute-api":
        message = f"Credential should be scoped to correct service: 'execute-api', not '{service}'. "
    else:
        return None
    return refuse(call, gateway_error("INVALID_SIGNATURE", message, error_type="InvalidSignatureException"))


def _refuse_caller(call: RestCall, refusal: ministack.Answer | None) -> ministack.Answer | None:
    """Turn MiniStack's refusal into a gateway response; the root user is refused, too."""
    if call.error is not None:
        return refusal
    call.identity = (_gateway._iam_caller_identity(call.headers, call.query) or {}) if _signature_scope(call) else {}
    if call.identity.get("userArn", "").endswith(":root"):
        # MiniStack accepts any secret for its root keys; no caller of an API may rely on that.
        message = "The security token included in the request is invalid."
        return refuse(call, gateway_error("DEFAULT_4XX", message, error_type="UnrecognizedClientException"))
    if refusal is None:
        return None
    return refuse(call, gateway_error("ACCESS_DENIED", json.loads(refusal[2])["message"]))


def _build_event(original: Any, *args: Any, **named: Any) -> dict[str, Any]:
    event: dict[str, Any] = original(*args, **named)
    if call := current_call():
        context = event["requestContext"]
        context["identity"] = dict.fromkeys(_IDENTITY_FIELDS) | call.api_key | context["identity"]
        context["domainName"] = call.headers.get("host", "")
    return event


def _in_own_account(original: Any, access_key_id: str, *rest: Any) -> Any:
    """Look for a caller of an API in the account of its key, which may be another than the API's."""
    owner = _evaluator.find_iam_access_key_account(access_key_id) or _responses._account_from_sts_session(access_key_id)
    if current_call() is None or owner is None:
        return original(access_key_id, *rest)
    with ministack.scope(owner, ministack.region()):
        return original(access_key_id, *((owner, *rest[1:]) if rest else ()))


def install() -> None:
    _evaluator.authenticate = functools.partial(_in_own_account, _evaluator.authenticate)
    _evaluator.resolve_caller_identity = functools.partial(_in_own_account, _evaluator.resolve_caller_identity)
    _evaluator.resolve_principal = functools.partial(_in_own_account, _evaluator.resolve_principal)
    _app._enforce_execute_api = functools.partial(_enforce, _app._enforce_execute_api)
    _gateway._build_lambda_event_v1 = functools.partial(_build_event, _gateway._build_lambda_event_v1)
