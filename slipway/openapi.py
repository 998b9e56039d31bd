"""The OpenAPI 3.1 document of all routes: the one description of them that programs read. `reference` writes it.

Which routes a deployment has follows from its settings; a test compares routes with the templates, and codes of errors
with the functions and the gateway's own answers, both ways.
"""

from typing import Any, NamedTuple

Schema = dict[str, Any]

# Codes of errors by their status.
CODES: dict[int, tuple[str, ...]] = {
    400: (
        *("empty_body", "empty_input", "invalid_form", "invalid_idempotency_key", "invalid_input", "invalid_json"),
        *("invalid_parameter", "rejected_by_model", "request_refused", "stream_not_supported", "unsupported_body"),
    ),
    401: ("invalid_api_key",),
    403: (
        *("access_denied", "expired_token", "invalid_signature", "no_such_route", "no_such_route_or_not_signed"),
        "request_refused",
    ),
    404: ("batch_not_found", "file_not_found", "job_not_found", "model_not_found", "request_refused"),
    409: ("batch_not_cancellable", "idempotency_key_reused", "job_cancelled", "job_ended"),
    413: ("body_too_large", "file_too_large"),
    415: ("request_refused", "unsupported_media_type"),
    429: (
        *("daily_tokens_exceeded", "model_busy", "quota_exceeded", "throttled", "tokens_per_minute_exceeded"),
        *("tokens_per_month_exceeded", "too_many_open_jobs", "too_many_waiting"),
    ),
    500: ("internal_error",),
    502: ("answer_not_text", "answer_too_large", "attempt_lost", "endpoint_refused", "model_error"),
    503: (
        *("endpoint_not_deployed", "endpoint_not_ready", "endpoint_unreachable", "model_starting", "overloaded"),
        *("service_unavailable", "status_unknown", "try_again"),
    ),
    504: ("deadline_exceeded", "gateway_timeout", "model_timeout", "still_running"),
}
_EVERYWHERE = (400, 401, 403, 404, 415, 429, 500, 502, 503, 504)
_MODEL = (*_EVERYWHERE, 409, 413)

_TEXT, _OBJECT = {"type": "string"}, {"type": "object"}
_TIME = {"type": "string", "format": "date-time"}


class _Route(NamedTuple):
    """answers: schema of the body by status; None = any. body: of the request. parameters: names in `_PARAMETERS`."""

    method: str
    path: str
    summary: str
    answers: dict[int, Schema | None]
    errors: tuple[int, ...] = _EVERYWHERE
    body: str | None = None
    parameters: tuple[str, ...] = ()
    streams: bool = False
    bearer: bool = False


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_JOB, _FILE, _BATCH = _ref("Job"), _ref("File"), _ref("Batch")
_ID, _PAGE, _HELD = ("id",), ("limit", "after"), ("wait", "Idempotency-Key")
_ROUTES = (
    _Route(
        "POST", "/generate", "The model's answer to the engine's own body, or a job.", {200: None, 202: _JOB}
    )._replace(errors=_MODEL, body="Generate", parameters=_HELD, streams=True),
    _Route(
        "POST", "/chat/completions", "A chat completion, whole or as a stream.", {200: _ref("ChatCompletion")}
    )._replace(errors=_MODEL, body="Chat", parameters=("wait",), streams=True, bearer=True),
    _Route("POST", "/completions", "A text completion, whole or as a stream.", {200: _ref("Completion")})._replace(
        errors=_MODEL, body="Complete", parameters=("wait",), streams=True, bearer=True
    ),
    _Route("GET", "/models", "The deployment's model, and whether it answers now.", {200: _ref("Models")}, bearer=True),
    _Route("GET", "/models/{id}", "The model by its id.", {200: _ref("Model")}, parameters=_ID, bearer=True),
    _Route("POST", "/jobs", "Accepts a job; its answer is fetched later.", {200: _JOB, 202: _JOB})._replace(
        errors=_MODEL, body="Generate", parameters=_HELD
    ),
    _Route("GET", "/jobs", "The caller's jobs, newest first.", {200: _ref("Jobs")}, parameters=("limit", "next")),
    _Route("GET", "/jobs/{id}", "The job, and its answer once there is one.", {200: _JOB}, parameters=("id", "wait")),
    _Route("DELETE", "/jobs/{id}", "Cancels a job.", {200: _JOB}, (*_EVERYWHERE, 409), parameters=_ID),
    _Route(
        "POST", "/files", "Stores a file of requests for a batch.", {200: _FILE}, (*_EVERYWHERE, 413), "Upload"
    )._replace(bearer=True),
    _Route("GET", "/files", "The caller's files.", {200: _ref("List")}, parameters=_PAGE, bearer=True),
    _Route("GET", "/files/{id}", "A file.", {200: _FILE}, parameters=_ID, bearer=True),
    _Route("DELETE", "/files/{id}", "Deletes a file.", {200: _OBJECT}, parameters=_ID, bearer=True),
    _Route("GET", "/files/{id}/content", "What is in a file.", {200: None, 302: None}, parameters=_ID, bearer=True),
    _Route(
        "POST", "/batches", "Runs the requests of a file.", {200: _BATCH}, (*_EVERYWHERE, 409, 413), "CreateBatch"
    )._replace(bearer=True),
    _Route("GET", "/batches", "The caller's batches.", {200: _ref("List")}, parameters=_PAGE, bearer=True),
    _Route("GET", "/batches/{id}", "A batch.", {200: _BATCH}, parameters=_ID, bearer=True),
    _Route(
        "POST", "/batches/{id}/cancel", "Cancels a batch.", {200: _BATCH}, (*_EVERYWHERE, 409), parameters=_ID
    )._replace(bearer=True),
    _Route("GET", "/endpoint", "The model, its endpoint and the endpoint's status.", {200: _OBJECT}),
)
_PARAMETERS: dict[str, tuple[str, Schema]] = {
    "id": ("path", {"type": "string", "minLength": 1}),
    "wait": ("query", {"type": "integer", "minimum": 0, "maximum": 840}),
    "limit": ("query", {"type": "integer", "minimum": 1, "maximum": 100}),
    "next": ("query", _TEXT),
    "after": ("query", _TEXT),
    "Idempotency-Key": ("header", {"type": "string", "pattern": "^[!-~]{1,128}$"}),
}


def _object(required: dict[str, Schema], **more: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": required | more}


_TOKENS = {"type": ["integer", "null"], "minimum": 1}
_SAMPLING: dict[str, Schema] = {
    "temperature": {"type": ["number", "null"]},
    "top_p": {"type": ["number", "null"]},
    "max_tokens": _TOKENS,
}
_MESSAGES = {
    "type": "array",
    "minItems": 1,
    "items": _object({"role": {"enum": ["system", "user", "assistant", "tool"]}}, content={}),
}
_STREAM = {"type": ["boolean", "null"]}
_SCHEMAS: dict[str, Schema] = {
    "Error": _object(
        {
            "error": _object(
                {
                    "code": {"enum": sorted({code for codes in CODES.values() for code in codes})},
                    "message": _TEXT,
                    "type": {
                        "enum": [
                            *("authentication_error", "invalid_request_error", "permission_error"),
                            *("rate_limit_error", "server_error"),
                        ]
                    },
                    "param": {"type": ["string", "null"]},
                },
                field=_TEXT,
            )
        }
    ),
    "Generate": {
        "type": "object",
        "description": "Exactly one of `inputs`, `messages` and `prompt`, as the engine takes them.",
        "properties": {"inputs": {}, "parameters": {}, "messages": {}, "prompt": {}, "stream": _STREAM, **_SAMPLING},
    },
    "Chat": _object({"messages": _MESSAGES}, model=_TEXT, stream=_STREAM, stream_options={}, **_SAMPLING),
    "Complete": _object({"prompt": {}}, model=_TEXT, stream=_STREAM, stream_options={}, **_SAMPLING),
    "ChatCompletion": _object({"object": {"const": "chat.completion"}, "model": _TEXT, "choices": {"type": "array"}}),
    "Completion": _object({"object": {"const": "text_completion"}, "model": _TEXT, "choices": {"type": "array"}}),
    "Model": _object({"id": _TEXT, "object": {"const": "model"}, "created": {"type": "integer"}, "owned_by": _TEXT}),
    "Models": _object({"object": {"const": "list"}, "data": {"type": "array", "items": _ref("Model")}}),
    "Job": {
        **_object(
            {
                "id": _TEXT,
                "status": {"enum": ["queued", "running", "succeeded", "failed", "expired", "cancelled"]},
                "created_at": _TIME,
                "deadline": _TIME,
                "links": _object({"self": _TEXT}),
            },
            ended_at=_TIME,
            output={},
            output_url=_TEXT,
            error=_OBJECT,
        ),
        "description": "`output`, `output_url` or `error` once it has ended.",
    },
    "Upload": _object({"purpose": {"enum": ["batch"]}, "file": {"type": "string", "contentMediaType": "text/plain"}}),
    "CreateBatch": _object(
        {"input_file_id": _TEXT, "endpoint": {"enum": ["/v1/chat/completions", "/v1/completions"]}},
        completion_window=_TEXT,
        metadata={"type": ["object", "null"]},
    ),
    "File": _object({"id": _TEXT, "object": {"const": "file"}, "bytes": {"type": "integer"}, "purpose": _TEXT}),
    "Batch": _object({"id": _TEXT, "object": {"const": "batch"}, "status": _TEXT, "input_file_id": _TEXT}),
    "List": _object({"object": {"const": "list"}, "data": {"type": "array", "items": _OBJECT}}),
    "Jobs": _object({"jobs": {"type": "array", "items": _ref("Job")}, "next": {"type": ["string", "null"]}}),
}


def document() -> Schema:
    """Of a deployment that has every route; `servers` is its ApiUrl."""
    paths: dict[str, Schema] = {}
    for route in _ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Slipway", "version": "1", "description": "A model behind its API: docs/api.md, openai.md."},
        "servers": [{"url": "{ApiUrl}", "variables": {"ApiUrl": {"default": "https://example.com/v1"}}}],
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {
                "signature": {"type": "apiKey", "in": "header", "name": "Authorization", "description": "SigV4 (iam)"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(route: _Route) -> Schema:
    answers = {str(status): _answer(schema, streams=route.streams) for status, schema in route.answers.items()}
    operation: Schema = {
        "summary": route.summary,
        "security": [{"signature": []}, {"bearer" if route.bearer else "key": []}],
        "responses": answers | {str(status): _error(status) for status in sorted(route.errors)},
    }
    if route.parameters:
        operation["parameters"] = [_parameter(name) for name in route.parameters]
    if route.body:
        content_type = "multipart/form-data" if route.body == "Upload" else "application/json"
        operation["requestBody"] = {"required": True, "content": {content_type: {"schema": _ref(route.body)}}}
    return operation


def _answer(schema: Schema | None, *, streams: bool) -> Schema:
    content: Schema = {"application/json": {"schema": schema or {}}}
    if schema is None:
        content["text/plain"] = {"schema": _TEXT}
    if streams:
        content["text/event-stream"] = {"schema": _TEXT}
    return {"description": "The answer.", "content": content}


def _error(status: int) -> Schema:
    codes = ", ".join(CODES[status])
    return {"description": codes, "content": {"application/json": {"schema": _ref("Error")}}}


def _parameter(name: str) -> Schema:
    place, schema = _PARAMETERS[name]
    return {"name": name, "in": place, "required": place == "path", "schema": schema}
