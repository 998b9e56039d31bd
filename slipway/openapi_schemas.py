"""Schemas of the OpenAPI document, and the codes of errors by status."""

from typing import Any

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
TEXT, OBJECT = {"type": "string"}, {"type": "object"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_TIME, _SECONDS = {"type": "string", "format": "date-time"}, {"type": "integer", "description": "Unix time."}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: dict[str, Schema], **more: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": required | more}


def _list_of(name: str) -> Schema:
    page: dict[str, Schema] = {"object": {"const": "list"}, "data": {"type": "array", "items": ref(name)}}
    return _object({**page, "has_more": {"type": "boolean"}}, first_id=_TEXT_OR_NULL, last_id=_TEXT_OR_NULL)


_TOKENS = {"type": ["integer", "null"], "minimum": 1}
_SAMPLING: dict[str, Schema] = {
    "temperature": {"type": ["number", "null"], "minimum": 0},
    "top_p": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1},
    "max_tokens": _TOKENS,
}
_MESSAGES = {
    "type": "array",
    "minItems": 1,
    "items": _object(
        {"role": {"enum": ["system", "user", "assistant", "tool"]}}, content={"type": ["string", "array", "null"]}
    ),
}
_TEXTS = {"oneOf": [{"type": "string", "minLength": 1}, {"type": "array", "minItems": 1, "items": TEXT}]}
_STREAM = {"type": ["boolean", "null"]}
_USAGE = {"type": ["object", "null"], "properties": {"include_usage": {"type": "boolean"}}}
_MODEL = {"type": "string", "description": "`id` of GET /models; may be left out."}
SCHEMAS: dict[str, Schema] = {
    "Error": _object(
        {
            "error": _object(
                {
                    "code": {"enum": sorted({code for codes in CODES.values() for code in codes})},
                    "message": TEXT,
                    "type": {
                        "enum": [
                            *("authentication_error", "invalid_request_error", "permission_error"),
                            *("rate_limit_error", "server_error"),
                        ]
                    },
                    "param": _TEXT_OR_NULL,
                },
                field=TEXT,
            )
        }
    ),
    "Generate": {
        "description": "One prompt, as the engine takes it: docs/engines.md.",
        "oneOf": [
            _object({"inputs": _TEXTS}, parameters=OBJECT, stream=_STREAM),
            _object({"messages": _MESSAGES}, model=_MODEL, stream=_STREAM, **_SAMPLING),
            _object({"prompt": _TEXTS}, model=_MODEL, stream=_STREAM, **_SAMPLING),
        ],
    },
    "Chat": _object({"messages": _MESSAGES}, model=_MODEL, stream=_STREAM, stream_options=_USAGE, **_SAMPLING),
    "Complete": _object({"prompt": _TEXTS}, model=_MODEL, stream=_STREAM, stream_options=_USAGE, **_SAMPLING),
    "ChatCompletion": _object(
        {"object": {"const": "chat.completion"}, "model": TEXT, "choices": {"type": "array", "items": OBJECT}}
    ),
    "Completion": _object(
        {"object": {"const": "text_completion"}, "model": TEXT, "choices": {"type": "array", "items": OBJECT}}
    ),
    "Model": _object(
        {"id": TEXT, "object": {"const": "model"}, "created": {"type": "integer"}, "owned_by": TEXT},
        status={"enum": ["ready", "starting", "asleep", "failed", "not_deployed", None]},
    ),
    "Models": _object({"object": {"const": "list"}, "data": {"type": "array", "items": ref("Model")}}),
    "Job": {
        **_object(
            {
                "id": TEXT,
                "status": {"enum": ["queued", "running", "succeeded", "failed", "expired", "cancelled"]},
                "created_at": _TIME,
                "deadline": _TIME,
                "links": _object({"self": TEXT}),
            },
            ended_at=_TIME,
            output={},
            output_url=TEXT,
            error=OBJECT,
        ),
        "description": "`output`, `output_url` or `error` once it has ended.",
    },
    "Upload": _object({"purpose": {"enum": ["batch"]}, "file": {"type": "string", "contentMediaType": "text/plain"}}),
    "CreateBatch": _object(
        {"input_file_id": TEXT, "endpoint": {"enum": ["/v1/chat/completions", "/v1/completions"]}},
        completion_window=TEXT,
        metadata={"type": ["object", "null"]},
    ),
    "File": _object(
        {
            "id": TEXT,
            "object": {"const": "file"},
            "bytes": {"type": "integer"},
            "created_at": _SECONDS,
            "expires_at": _SECONDS,
            "filename": TEXT,
            "purpose": TEXT,
        }
    ),
    "DeletedFile": _object({"id": TEXT, "object": {"const": "file"}, "deleted": {"const": True}}),
    "Batch": _object(
        {
            "id": TEXT,
            "object": {"const": "batch"},
            "endpoint": TEXT,
            "input_file_id": TEXT,
            "status": {
                "enum": [
                    *("validating", "failed", "in_progress", "finalizing", "completed", "expired"),
                    *("cancelling", "cancelled"),
                ]
            },
            "output_file_id": _TEXT_OR_NULL,
            "error_file_id": _TEXT_OR_NULL,
            "created_at": _SECONDS,
            "request_counts": _object({name: {"type": "integer"} for name in ("total", "completed", "failed")}),
        },
        errors={"type": ["object", "null"]},
        metadata={"type": ["object", "null"]},
    ),
    "Files": _list_of("File"),
    "Batches": _list_of("Batch"),
    "Jobs": _object({"jobs": {"type": "array", "items": ref("Job")}, "next": _TEXT_OR_NULL}),
}
