"""The codes of errors in the OpenAPI document: those of the functions and those of the gateway's own answers."""

from collections.abc import Iterator
from typing import get_args

from inference_api.shared import error_codes
from llm_hosting.api.gateway_responses import gateway_responses
from llm_hosting.api.routes import ROUTES
from llm_hosting.deployment.settings.api import Api

# `request_refused` keeps the status of the gateway's refusal. Callers have met these.
_STATUSES_OF_REFUSALS = (400, 403, 404, 415)
# Codes that only the routes under a path have.
ONLY_UNDER = {
    "batch_not_cancellable": "/batches",
    "batch_not_found": "/batches",
    "file_not_found": "/files",
    "file_too_large": "/files",
    "invalid_form": "/files",
    "job_ended": "/jobs",
    "job_not_found": "/jobs",
    "status_unknown": "/endpoint",
}


def _of_the_gateway() -> Iterator[tuple[int, str]]:
    for auth in get_args(Api.model_fields["auth"].annotation):
        for answer in gateway_responses(Api(auth=auth), ROUTES):
            for status in (answer.status,) if answer.status else _STATUSES_OF_REFUSALS:
                yield status, answer.code


def _by_status() -> dict[int, list[str]]:
    found = {(status, code) for status, codes in error_codes.CODES.items() for code in codes}
    by_status: dict[int, list[str]] = {}
    for status, code in sorted(found.union(_of_the_gateway())):
        by_status.setdefault(status, []).append(code)
    return by_status


CODES = _by_status()


def codes_at(status: int, path: str) -> list[str]:
    """The codes that a route may answer with."""
    return [code for code in CODES[status] if path.startswith(ONLY_UNDER.get(code, "/"))]
