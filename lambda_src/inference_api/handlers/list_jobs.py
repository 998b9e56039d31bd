"""GET /jobs."""

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from inference_api.http.gateway import Request, Response, answers
from inference_api.jobs.service import job_service
from inference_api.jobs.view import summary
from inference_api.shared.errors import ApiError

_MOST, _DEFAULT = 100, 25
_POSITION = re.compile(rb"([0-9]{13}\.[0-9]{3})#([0-9a-f]{32})")


@answers
def handler(request: Request) -> Response:
    """GET /jobs: a page of `limit` of the caller's jobs, newest first, from `next` on."""
    jobs, position = job_service().table.jobs_of(
        request.owner, request.whole_number("limit", 1, _MOST, _DEFAULT), _position(request)
    )
    # Without padding, because callers would have to escape it in a query.
    following = urlsafe_b64encode(position.encode()).decode().rstrip("=") if position else None
    return Response(200, {"jobs": [summary(job) for job in jobs], "next": following})


def _position(request: Request) -> str | None:
    text = request.query.get("next")
    if text is None:
        return None
    try:
        position = urlsafe_b64decode(text.encode() + b"==")
    except (binascii.Error, UnicodeEncodeError, ValueError):
        position = b""
    if not _POSITION.fullmatch(position):
        raise ApiError("invalid_parameter", "next: must be the `next` of an earlier answer.", field="next")
    return position.decode()
