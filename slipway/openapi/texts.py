"""Texts of the OpenAPI document, for readers who do not have docs/."""

from typing import Any

DESCRIPTION = (
    "A model: OpenAI's routes for its clients, jobs for what takes longer. Every answer has `x-request-id`, "
    "every error the shape of `Error`. `x-should-retry: false` marks errors after which the model may have run: the "
    "same request may be paid again. Errors have the headers of answers, too, unless API Gateway itself refuses."
)
API_URL = {"default": "https://example.com/v1", "description": "Output `ApiUrl` of the stack, without its last slash."}
SECURITY_SCHEMES: dict[str, dict[str, Any]] = {
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "AWS Signature Version 4 for the service `execute-api` (`api.auth: iam`).",
    },
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "x-api-key",
        "description": "A key (`api.auth: api-key`), on all routes but OpenAI's.",
    },
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "The same key (`api.auth: api-key`), on OpenAI's routes.",
    },
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token of the API's issuer (`api.auth: jwt`), on all routes.",
    },
}
ANSWERS = {
    200: "The answer.",
    202: "The job, which goes on; the header `location` is its URL, relative to that of the request.",
    302: "The file is large: the header `location` is a URL of S3 that is good for 5 minutes.",
}
STREAM = {
    "description": "With `stream: true`. Events `data: ` with a chunk in JSON each, then `data: [DONE]`. Lines that "
    'begin with a colon are comments. An error after the first event is the last one: `data: {"error": ...}`.',
}
EVENTS = {
    "description": "With `stream: true`. Events of OpenAI's Responses API: a name, and `data: ` with JSON that has "
    "`type`, the same name, and `sequence_number`. The last one is `response.completed`, `response.incomplete` or "
    "`response.failed`; no `[DONE]` follows. Lines that begin with a colon are comments.",
}
_COUNT = {"type": "integer", "minimum": 0}
_LIMITED = "Only for a key with limits. "
EVERY_HEADER: dict[str, dict[str, Any]] = {
    "x-request-id": {"description": "The request's id in the log.", "schema": {"type": "string"}},
    "x-trace-id": {
        "description": "Only of a traced deployment: the request's trace in AWS X-Ray.",
        "schema": {"type": "string"},
    },
    "openai-processing-ms": {"description": "Milliseconds until the answer began.", "schema": _COUNT},
    "x-ratelimit-limit-requests": {"description": f"{_LIMITED}Requests a minute.", "schema": _COUNT},
    "x-ratelimit-limit-tokens": {"description": f"{_LIMITED}Tokens a minute or a month.", "schema": _COUNT},
}
HEADERS_OF_CALLS: dict[str, dict[str, Any]] = {
    "openai-model": {"description": "Id of the model or the adapter that answers.", "schema": {"type": "string"}},
    "x-ratelimit-remaining-tokens": {"description": f"{_LIMITED}Tokens left after this call.", "schema": _COUNT},
    "x-ratelimit-reset-tokens": {
        "description": f"{_LIMITED}Time until the limit renews, such as `59s` or `6m0s`.",
        "schema": {"type": "string"},
    },
}
RETRY_AFTER = {"description": "Seconds to wait before the same request.", "schema": {"type": "integer", "minimum": 0}}
WAIT = (
    "Seconds for which a request is held while the model sleeps or starts. Without it a stream is held for 840, any "
    "other request gets 503 `model_starting`. A held answer may have the status 200 and an `error` in its body."
)
REPEATED = "The same caller, key and body get the same job."
