"""The OpenAPI 3.1 document of all routes, for programs. `reference` writes it.

A deployment's settings decide which of the routes it has. The stack is built from the same table of routes.
"""

from typing import NamedTuple

from llm_hosting.api.routes import ROUTES, Route
from slipway.openapi.errors import codes_at
from slipway.openapi.schemas import OBJECT, SCHEMAS, TEXT, Schema, ref
from slipway.openapi.texts import (
    ANSWERS,
    API_URL,
    DESCRIPTION,
    EVENTS,
    EVERY_HEADER,
    HEADERS_OF_CALLS,
    REPEATED,
    RETRY_AFTER,
    SECURITY_SCHEMES,
    STREAM,
    WAIT,
)

_EVERYWHERE = (400, 401, 403, 404, 415, 429, 500, 502, 503, 504)
_MODEL = (*_EVERYWHERE, 409, 413)


class _Operation(NamedTuple):
    """The parts of an operation that the table of routes does not hold.

    answers: for each status the schema of a JSON body, the content type of a text, or None = any JSON or text. body:
    the request's schema. parameters: names in `_PARAMETERS`.
    """

    summary: str
    answers: dict[int, Schema | str | None]
    errors: tuple[int, ...] = _EVERYWHERE
    body: str | None = None
    parameters: tuple[str, ...] = ()


# By the request's schema, where a stream differs from that of a chat.
_STREAMS: dict[str | None, Schema | None] = {"Respond": EVENTS, "Embed": None, "Rerank": None}
_JOB, _FILE, _BATCH = ref("Job"), ref("File"), ref("Batch")
_ID, _HELD, _WAIT = ("id",), ("wait", "Idempotency-Key"), ("wait_for_model", "x-wait")
# By the id of their route.
_OPERATIONS = {
    "generate": _Operation(
        "The model's answer to the engine's own body, or a job.", {200: None, 202: _JOB}, _MODEL, "Generate", _HELD
    ),
    "submitJob": _Operation(
        "Accepts a job; its answer is fetched later.", {200: _JOB, 202: _JOB}, _MODEL, "Generate", _HELD
    ),
    "listJobs": _Operation("The caller's jobs, newest first.", {200: ref("Jobs")}, parameters=("limit", "next")),
    "retrieveJob": _Operation("The job, and its answer once there is one.", {200: _JOB}, parameters=("id", "wait")),
    "cancelJob": _Operation("Cancels a job.", {200: _JOB}, (*_EVERYWHERE, 409), parameters=_ID),
    "createChatCompletion": _Operation(
        "A chat completion, whole or as a stream.", {200: ref("ChatCompletion")}, _MODEL, "Chat", _WAIT
    ),
    "createCompletion": _Operation(
        "A text completion, whole or as a stream.", {200: ref("Completion")}, _MODEL, "Complete", _WAIT
    ),
    "createResponse": _Operation(
        "A response, whole or as a stream of its events.", {200: ref("Response")}, _MODEL, "Respond", _WAIT
    ),
    "createEmbedding": _Operation("A vector for each text.", {200: ref("Embeddings")}, _MODEL, "Embed", _WAIT),
    "createRerank": _Operation("Documents, ranked by a query.", {200: ref("Ranks")}, _MODEL, "Rerank", _WAIT),
    "listModels": _Operation("The deployment's model, and whether it answers now.", {200: ref("Models")}),
    "retrieveModel": _Operation("The model by its id.", {200: ref("Model")}, parameters=_ID),
    "createFile": _Operation(
        "Stores a file of requests for a batch.", {200: _FILE}, (*_EVERYWHERE, 413), body="Upload"
    ),
    "listFiles": _Operation(
        "The caller's files.", {200: ref("Files")}, parameters=("files", "after", "order", "purpose")
    ),
    "retrieveFile": _Operation("A file.", {200: _FILE}, parameters=_ID),
    "deleteFile": _Operation("Deletes a file.", {200: ref("DeletedFile")}, parameters=_ID),
    "downloadFile": _Operation(
        "What is in a file, or a link to it.", {200: "application/jsonl", 302: "text/plain"}, parameters=_ID
    ),
    "createBatch": _Operation(
        "Runs the requests of a file.", {200: _BATCH}, (*_EVERYWHERE, 409, 413), "CreateBatch", ("Idempotency-Key",)
    ),
    "listBatches": _Operation("The caller's batches.", {200: ref("Batches")}, parameters=("limit", "after")),
    "retrieveBatch": _Operation("A batch.", {200: _BATCH}, parameters=_ID),
    "cancelBatch": _Operation("Cancels a batch.", {200: _BATCH}, (*_EVERYWHERE, 409), parameters=_ID),
    "describeEndpoint": _Operation("The model, its endpoint and the endpoint's status.", {200: OBJECT}),
}
# By name: the name in the request, its place, its schema and its meaning. `wait` is that of `api.timeout_in_seconds`
# as it is unset.
_PARAMETERS: dict[str, tuple[str, str, Schema, str]] = {
    "id": ("id", "path", {"type": "string", "minLength": 1}, "`id` of the object."),
    "wait": ("wait", "query", {"type": "integer", "minimum": 0, "maximum": 25}, "Seconds to wait for the job's end."),
    "wait_for_model": ("wait", "query", {"type": "integer", "minimum": 1, "maximum": 840}, WAIT),
    "x-wait": ("x-wait", "header", {"type": "integer", "minimum": 1, "maximum": 840}, "The same as `wait`."),
    "limit": ("limit", "query", {"type": "integer", "minimum": 1, "maximum": 100}, "The most objects on a page."),
    "files": ("limit", "query", {"type": "integer", "minimum": 1, "maximum": 10_000}, "The most objects on a page."),
    "next": ("next", "query", TEXT, "`next` of the page before."),
    "after": ("after", "query", TEXT, "`last_id` of the page before."),
    "order": (
        "order",
        "query",
        {"enum": ["asc", "desc"]},
        "By `created_at`; `desc`, the newest first, is the default.",
    ),
    "purpose": ("purpose", "query", TEXT, "Only files of this purpose."),
    "Idempotency-Key": ("Idempotency-Key", "header", {"type": "string", "pattern": "^[ -~]{1,255}$"}, REPEATED),
}


def document() -> Schema:
    """The document of a deployment that has every route; `servers` is its ApiUrl."""
    paths: dict[str, Schema] = {}
    for route in ROUTES:
        path = route.path.replace("+}", "}")  # API Gateway marks a parameter that may hold slashes with a plus
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, _OPERATIONS[route.id])
    return {
        "openapi": "3.1.0",
        "info": {"title": "Slipway", "version": "1", "description": DESCRIPTION},
        "servers": [{"url": "{ApiUrl}", "variables": {"ApiUrl": API_URL}}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "headers": EVERY_HEADER | HEADERS_OF_CALLS,
            "parameters": {key: _parameter(*each) for key, each in _PARAMETERS.items()},
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def _operation(route: Route, meant: _Operation) -> Schema:
    stream = _STREAMS.get(meant.body, STREAM) if route.streams else None
    headers = (*EVERY_HEADER, *(HEADERS_OF_CALLS if route.streams else ()))
    told = {"headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers}}
    answers = {str(status): _answer(status, body, stream) | told for status, body in meant.answers.items()}
    operation: Schema = {
        "operationId": route.id,
        "tags": [route.path.split("/")[1]],
        "summary": meant.summary,
        "security": [{"signature": []}, {"bearer" if route.openai else "key": []}, {"token": []}],
        "responses": answers | {str(status): _error(status, route.path) for status in sorted(meant.errors)},
    }
    if meant.parameters:
        operation["parameters"] = [{"$ref": f"#/components/parameters/{key}"} for key in meant.parameters]
    if meant.body:
        content_type = "multipart/form-data" if meant.body == "Upload" else "application/json"
        operation["requestBody"] = {"required": True, "content": {content_type: {"schema": ref(meant.body)}}}
    return operation


def _answer(status: int, body: Schema | str | None, stream: Schema | None) -> Schema:
    content: Schema
    if isinstance(body, str):
        content = {body: {"schema": TEXT}}
    else:
        content = {"application/json": {"schema": body or {}}}
        if body is None:
            content["text/plain"] = {"schema": TEXT}
        if stream and status == 200:
            content["text/event-stream"] = {"schema": stream}
    return {"description": ANSWERS[status], "content": content}


def _error(status: int, path: str) -> Schema:
    answer: Schema = {
        "description": ", ".join(codes_at(status, path)),
        "content": {"application/json": {"schema": ref("Error")}},
    }
    return answer | ({"headers": {"retry-after": RETRY_AFTER}} if status in (429, 503) else {})


def _parameter(name: str, place: str, schema: Schema, meaning: str) -> Schema:
    return {"name": name, "in": place, "required": place == "path", "schema": schema, "description": meaning}
