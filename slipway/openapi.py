"""The OpenAPI 3.1 document of all routes: the one description of them that programs read. `reference` writes it.

Which routes a deployment has follows from its settings; a test compares routes with the templates, and codes of errors
with the functions and the gateway's own answers, both ways.
"""

from typing import NamedTuple

from slipway.openapi_schemas import CODES, OBJECT, ONLY_UNDER, SCHEMAS, TEXT, Schema, ref
from slipway.openapi_texts import ANSWERS, API_URL, DESCRIPTION, REPEATED, RETRY_AFTER, SECURITY_SCHEMES, STREAM, WAIT

_EVERYWHERE = (400, 401, 403, 404, 415, 429, 500, 502, 503, 504)
_MODEL = (*_EVERYWHERE, 409, 413)


class _Route(NamedTuple):
    """id: OpenAI's own on its routes; generators of clients name methods by it.

    answers: by status the schema of a JSON body, the content type of a text, or None = any JSON or text.

    body: of the request. parameters: names in `_PARAMETERS`.
    """

    id: str
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
_ID, _HELD, _WAIT = ("id",), ("wait", "Idempotency-Key"), ("wait_for_model", "x-wait")
_ROUTES = (
    _Route(
        "generate",
        "POST",
        "/generate",
        "The model's answer to the engine's own body, or a job.",
        {200: None, 202: _JOB},
    )._replace(errors=_MODEL, body="Generate", parameters=_HELD, streams=True),
    _Route(
        "createChatCompletion",
        "POST",
        "/chat/completions",
        "A chat completion, whole or as a stream.",
        {200: ref("ChatCompletion")},
    )._replace(errors=_MODEL, body="Chat", parameters=_WAIT, streams=True, bearer=True),
    _Route(
        "createCompletion", "POST", "/completions", "A text completion, whole or as a stream.", {200: ref("Completion")}
    )._replace(errors=_MODEL, body="Complete", parameters=_WAIT, streams=True, bearer=True),
    _Route(
        "listModels",
        "GET",
        "/models",
        "The deployment's model, and whether it answers now.",
        {200: ref("Models")},
        bearer=True,
    ),
    _Route(
        "retrieveModel", "GET", "/models/{id}", "The model by its id.", {200: ref("Model")}, parameters=_ID, bearer=True
    ),
    _Route(
        "submitJob", "POST", "/jobs", "Accepts a job; its answer is fetched later.", {200: _JOB, 202: _JOB}
    )._replace(errors=_MODEL, body="Generate", parameters=_HELD),
    _Route(
        "listJobs", "GET", "/jobs", "The caller's jobs, newest first.", {200: ref("Jobs")}, parameters=("limit", "next")
    ),
    _Route(
        "retrieveJob",
        "GET",
        "/jobs/{id}",
        "The job, and its answer once there is one.",
        {200: _JOB},
        parameters=("id", "wait"),
    ),
    _Route("cancelJob", "DELETE", "/jobs/{id}", "Cancels a job.", {200: _JOB}, (*_EVERYWHERE, 409), parameters=_ID),
    _Route(
        "createFile",
        "POST",
        "/files",
        "Stores a file of requests for a batch.",
        {200: _FILE},
        (*_EVERYWHERE, 413),
        "Upload",
    )._replace(bearer=True),
    _Route("listFiles", "GET", "/files", "The caller's files.", {200: ref("Files")})._replace(
        parameters=("files", "after", "order", "purpose"), bearer=True
    ),
    _Route("retrieveFile", "GET", "/files/{id}", "A file.", {200: _FILE}, parameters=_ID, bearer=True),
    _Route(
        "deleteFile", "DELETE", "/files/{id}", "Deletes a file.", {200: ref("DeletedFile")}, parameters=_ID, bearer=True
    ),
    _Route("downloadFile", "GET", "/files/{id}/content", "What is in a file, or a link to it.", _CONTENT)._replace(
        parameters=_ID, bearer=True
    ),
    _Route(
        "createBatch",
        "POST",
        "/batches",
        "Runs the requests of a file.",
        {200: _BATCH},
        (*_EVERYWHERE, 409, 413),
        "CreateBatch",
    )._replace(parameters=("Idempotency-Key",), bearer=True),
    _Route(
        "listBatches",
        "GET",
        "/batches",
        "The caller's batches.",
        {200: ref("Batches")},
        parameters=("limit", "after"),
        bearer=True,
    ),
    _Route("retrieveBatch", "GET", "/batches/{id}", "A batch.", {200: _BATCH}, parameters=_ID, bearer=True),
    _Route(
        "cancelBatch",
        "POST",
        "/batches/{id}/cancel",
        "Cancels a batch.",
        {200: _BATCH},
        (*_EVERYWHERE, 409),
        parameters=_ID,
    )._replace(bearer=True),
    _Route("describeEndpoint", "GET", "/endpoint", "The model, its endpoint and the endpoint's status.", {200: OBJECT}),
)
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
    """Of a deployment that has every route; `servers` is its ApiUrl."""
    paths: dict[str, Schema] = {}
    for route in _ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Slipway", "version": "1", "description": DESCRIPTION},
        "servers": [{"url": "{ApiUrl}", "variables": {"ApiUrl": API_URL}}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "parameters": {key: _parameter(*each) for key, each in _PARAMETERS.items()},
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def _operation(route: _Route) -> Schema:
    answers = {str(status): _answer(status, body, streams=route.streams) for status, body in route.answers.items()}
    operation: Schema = {
        "operationId": route.id,
        "tags": [route.path.split("/")[1]],
        "summary": route.summary,
        "security": [{"signature": []}, {"bearer" if route.bearer else "key": []}],
        "responses": answers | {str(status): _error(status, route.path) for status in sorted(route.errors)},
    }
    if route.parameters:
        operation["parameters"] = [{"$ref": f"#/components/parameters/{key}"} for key in route.parameters]
    if route.body:
        content_type = "multipart/form-data" if route.body == "Upload" else "application/json"
        operation["requestBody"] = {"required": True, "content": {content_type: {"schema": ref(route.body)}}}
    return operation


def _answer(status: int, body: Schema | str | None, *, streams: bool) -> Schema:
    content: Schema
    if isinstance(body, str):
        content = {body: {"schema": TEXT}}
    else:
        content = {"application/json": {"schema": body or {}}}
        if body is None:
            content["text/plain"] = {"schema": TEXT}
        if streams and status == 200:
            content["text/event-stream"] = {"schema": STREAM}
    return {"description": ANSWERS[status], "content": content}


def _error(status: int, path: str) -> Schema:
    codes = ", ".join(code for code in CODES[status] if path.startswith(ONLY_UNDER.get(code, "/")))
    answer: Schema = {"description": codes, "content": {"application/json": {"schema": ref("Error")}}}
    return answer | ({"headers": {"retry-after": RETRY_AFTER}} if status in (429, 503) else {})


def _parameter(name: str, place: str, schema: Schema, meaning: str) -> Schema:
    return {"name": name, "in": place, "required": place == "path", "schema": schema, "description": meaning}
