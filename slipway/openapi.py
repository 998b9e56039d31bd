"""The OpenAPI 3.1 document of all routes: the one description of them that programs read. `reference` writes it.

Which routes a deployment has follows from its settings; a test compares routes with the templates, and codes of errors
with the functions and the gateway's own answers, both ways.
"""

from typing import NamedTuple

from slipway.openapi_schemas import CODES, OBJECT, SCHEMAS, TEXT, Schema, ref

_EVERYWHERE = (400, 401, 403, 404, 415, 429, 500, 502, 503, 504)
_MODEL = (*_EVERYWHERE, 409, 413)


class _Route(NamedTuple):
    """answers: by status the schema of a JSON body, the content type of a text, or None = any JSON or text.

    body: of the request. parameters: names in `_PARAMETERS`.
    """

    method: str
    path: str
    summary: str
    answers: dict[int, Schema | str | None]
    errors: tuple[int, ...] = _EVERYWHERE
    body: str | None = None
    parameters: tuple[str, ...] = ()
    streams: bool = False
    bearer: bool = False


_JOB, _FILE, _BATCH = ref("Job"), ref("File"), ref("Batch")
_CONTENT: dict[int, Schema | str | None] = {200: "application/jsonl", 302: "text/plain"}
_ID, _HELD = ("id",), ("wait", "Idempotency-Key")
_ROUTES = (
    _Route(
        "POST", "/generate", "The model's answer to the engine's own body, or a job.", {200: None, 202: _JOB}
    )._replace(errors=_MODEL, body="Generate", parameters=_HELD, streams=True),
    _Route(
        "POST", "/chat/completions", "A chat completion, whole or as a stream.", {200: ref("ChatCompletion")}
    )._replace(errors=_MODEL, body="Chat", parameters=("wait_for_model",), streams=True, bearer=True),
    _Route("POST", "/completions", "A text completion, whole or as a stream.", {200: ref("Completion")})._replace(
        errors=_MODEL, body="Complete", parameters=("wait_for_model",), streams=True, bearer=True
    ),
    _Route("GET", "/models", "The deployment's model, and whether it answers now.", {200: ref("Models")}, bearer=True),
    _Route("GET", "/models/{id}", "The model by its id.", {200: ref("Model")}, parameters=_ID, bearer=True),
    _Route("POST", "/jobs", "Accepts a job; its answer is fetched later.", {200: _JOB, 202: _JOB})._replace(
        errors=_MODEL, body="Generate", parameters=_HELD
    ),
    _Route("GET", "/jobs", "The caller's jobs, newest first.", {200: ref("Jobs")}, parameters=("limit", "next")),
    _Route("GET", "/jobs/{id}", "The job, and its answer once there is one.", {200: _JOB}, parameters=("id", "wait")),
    _Route("DELETE", "/jobs/{id}", "Cancels a job.", {200: _JOB}, (*_EVERYWHERE, 409), parameters=_ID),
    _Route(
        "POST", "/files", "Stores a file of requests for a batch.", {200: _FILE}, (*_EVERYWHERE, 413), "Upload"
    )._replace(bearer=True),
    _Route("GET", "/files", "The caller's files.", {200: ref("Files")})._replace(
        parameters=("files", "after", "order", "purpose"), bearer=True
    ),
    _Route("GET", "/files/{id}", "A file.", {200: _FILE}, parameters=_ID, bearer=True),
    _Route("DELETE", "/files/{id}", "Deletes a file.", {200: ref("DeletedFile")}, parameters=_ID, bearer=True),
    _Route("GET", "/files/{id}/content", "What is in a file, or a link to it.", _CONTENT)._replace(
        parameters=_ID, bearer=True
    ),
    _Route(
        "POST", "/batches", "Runs the requests of a file.", {200: _BATCH}, (*_EVERYWHERE, 409, 413), "CreateBatch"
    )._replace(parameters=("Idempotency-Key",), bearer=True),
    _Route(
        "GET", "/batches", "The caller's batches.", {200: ref("Batches")}, parameters=("limit", "after"), bearer=True
    ),
    _Route("GET", "/batches/{id}", "A batch.", {200: _BATCH}, parameters=_ID, bearer=True),
    _Route(
        "POST", "/batches/{id}/cancel", "Cancels a batch.", {200: _BATCH}, (*_EVERYWHERE, 409), parameters=_ID
    )._replace(bearer=True),
    _Route("GET", "/endpoint", "The model, its endpoint and the endpoint's status.", {200: OBJECT}),
)
# By name: the name in the request, its place and its schema. `wait` is that of `api.timeout_in_seconds` as it is unset.
_PARAMETERS: dict[str, tuple[str, str, Schema]] = {
    "id": ("id", "path", {"type": "string", "minLength": 1}),
    "wait": ("wait", "query", {"type": "integer", "minimum": 0, "maximum": 25}),
    "wait_for_model": ("wait", "query", {"type": "integer", "minimum": 0, "maximum": 840}),
    "limit": ("limit", "query", {"type": "integer", "minimum": 1, "maximum": 100}),
    "files": ("limit", "query", {"type": "integer", "minimum": 1, "maximum": 10_000}),
    "next": ("next", "query", TEXT),
    "after": ("after", "query", TEXT),
    "order": ("order", "query", {"enum": ["asc", "desc"]}),
    "purpose": ("purpose", "query", TEXT),
    "Idempotency-Key": ("Idempotency-Key", "header", {"type": "string", "pattern": "^[ -~]{1,255}$"}),
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
            "schemas": SCHEMAS,
            "parameters": {key: _parameter(*each) for key, each in _PARAMETERS.items()},
            "securitySchemes": {
                "signature": {"type": "apiKey", "in": "header", "name": "Authorization", "description": "SigV4 (iam)"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(route: _Route) -> Schema:
    answers = {str(status): _answer(body, streams=route.streams) for status, body in route.answers.items()}
    operation: Schema = {
        "summary": route.summary,
        "security": [{"signature": []}, {"bearer" if route.bearer else "key": []}],
        "responses": answers | {str(status): _error(status) for status in sorted(route.errors)},
    }
    if route.parameters:
        operation["parameters"] = [{"$ref": f"#/components/parameters/{key}"} for key in route.parameters]
    if route.body:
        content_type = "multipart/form-data" if route.body == "Upload" else "application/json"
        operation["requestBody"] = {"required": True, "content": {content_type: {"schema": ref(route.body)}}}
    return operation


def _answer(body: Schema | str | None, *, streams: bool) -> Schema:
    content: Schema
    if isinstance(body, str):
        content = {body: {"schema": TEXT}}
    else:
        content = {"application/json": {"schema": body or {}}}
        if body is None:
            content["text/plain"] = {"schema": TEXT}
        if streams:
            content["text/event-stream"] = {"schema": {"description": "Events with a chunk each, then `data: [DONE]`."}}
    return {"description": "The answer.", "content": content}


def _error(status: int) -> Schema:
    codes = ", ".join(CODES[status])
    return {"description": codes, "content": {"application/json": {"schema": ref("Error")}}}


def _parameter(name: str, place: str, schema: Schema) -> Schema:
    return {"name": name, "in": place, "required": place == "path", "schema": schema}
