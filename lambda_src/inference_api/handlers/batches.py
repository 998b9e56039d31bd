"""OpenAI's Batch API: POST and GET /batches, GET /batches/{id}, POST /batches/{id}/cancel."""

from dataclasses import asdict
from hashlib import sha256
from typing import Any

from inference_api.batches import transitions
from inference_api.batches.batch import CANCELLING, WINDOW_IN_SECONDS, Batch
from inference_api.batches.service import PREFIX, batch_service
from inference_api.handlers.files import list_view, seconds_to_keep
from inference_api.http.gateway import Request, Response, answers
from inference_api.http.metadata import check_metadata
from inference_api.http.strict_json import read_strict_json
from inference_api.jobs.submission import idempotency_key
from inference_api.routes.readers import READERS
from inference_api.shared import errors
from inference_api.shared.errors import ApiError
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import job_settings, settings
from inference_api.shared.tracing import current_trace

_MOST, _DEFAULT = 100, 20
_MOST_BYTES = 65_536


@answers
def handler(request: Request) -> Response:
    """Answer one of the four routes, by method and path."""
    if "id" not in request.path:
        return _create(request) if request.method == "POST" else _list(request)
    service = batch_service()
    batch = service.table.find_batch(request.path["id"], request.owner)
    if request.method == "POST":
        batch, cancelled = service.table.change(batch, lambda row: transitions.cancel(row, runtime().now()))
        if cancelled:
            service.ask_for_a_step(batch)
        elif batch.status != CANCELLING:
            raise errors.batch_not_cancellable(batch.status)
    return Response(200, batch.view())


def _create(request: Request) -> Response:
    wanted = _read(request)
    service, now = batch_service(), int(runtime().now())
    try:
        file = service.table.find_file(wanted.get("input_file_id"), request.owner)
    except ApiError:
        raise _invalid("input_file_id", "must be the id of a file of yours; upload one with POST /files") from None
    if file.purpose != "batch":
        raise _invalid("input_file_id", f"the file's purpose is {file.purpose}; it must be batch")
    expires_after = wanted.get("output_expires_after") or {}
    if not isinstance(expires_after, dict):
        raise _invalid("output_expires_after", "must be an object with anchor and seconds")
    trace = current_trace()
    batch = Batch(
        owner=request.owner,
        endpoint=_endpoint(wanted),
        input_file_id=file.id,
        input_key=file.key,
        input_version=file.version_id,
        created_at=now,
        expires_at=now + WINDOW_IN_SECONDS,
        output_kept_for=seconds_to_keep(expires_after.get("anchor"), expires_after.get("seconds")),
        metadata=check_metadata(wanted.get("metadata")),
        key=asdict(request.key) if request.key else None,
        due_at=now,
        trace=trace.header if trace else "",
        id=_id(request, now),  # last, because an invalid request must not take the idempotency key
    )
    batch = service.table.add(batch)
    service.ask_for_a_step(batch)
    return Response(200, batch.view())


def _id(request: Request, now: int) -> str:
    """Return a new batch id, or the one of the caller's idempotency key."""
    new, key = f"batch_{runtime().new_id()}", idempotency_key(request)
    if key is None:
        return new
    until, fingerprint = now + job_settings().times.retention, sha256(request.body).hexdigest()
    return batch_service().table.reserve_batch_id(new, request.owner, key, fingerprint, until)


def _read(request: Request) -> dict[str, Any]:
    if len(request.body) > _MOST_BYTES:
        message = f"The body has {len(request.body)} bytes; at most {_MOST_BYTES} are taken."
        raise ApiError("body_too_large", message)
    document = read_strict_json(request.body)
    if not isinstance(document, dict):
        raise ApiError("invalid_json", "The body must be a JSON object with input_file_id, endpoint and so on.")
    return document


def _endpoint(wanted: dict[str, Any]) -> str:
    allowed = [PREFIX + path for path, route in READERS.items() if route.needs in settings().openai_routes]
    if wanted.get("endpoint") not in allowed:
        raise _invalid("endpoint", f"must be {' or '.join(allowed)}")
    if wanted.get("completion_window") != "24h":
        raise _invalid("completion_window", "must be 24h")
    return str(wanted["endpoint"])


def _list(request: Request) -> Response:
    limit, after = request.whole_number("limit", 1, _MOST, _DEFAULT), request.query.get("after")
    page = batch_service().table.page(Batch, request.owner, limit, after, lambda _: True, newest=True)
    return Response(200, list_view([batch.view() for batch in page.rows], page.has_more))


def _invalid(field: str, problem: str) -> ApiError:
    return ApiError("invalid_parameter", f"{field}: {problem}.", field=field)
