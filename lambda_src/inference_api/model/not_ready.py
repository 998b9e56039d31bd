"""A request that the endpoint refuses as not ready is answered by a job, if the deployment has jobs.

A stream of a model that sleeps is held instead (jobs/held_stream.py), and then comes from the endpoint itself.
"""

from collections.abc import Callable, Iterator

from inference_api.http.gateway import Request, Response, StreamedResponse
from inference_api.http.streaming_runtime import close
from inference_api.shared.errors import InvocationError
from inference_api.shared.settings import sleeps, takes_jobs

Answered = Response | StreamedResponse
Route = Callable[[Request], Answered]

_NOT_READY = ("endpoint_not_ready", "model_starting")


def is_for_a_job(error: BaseException | None) -> bool:
    """Whether a job can answer instead of a call: the endpoint refused the call as not ready, before the model ran."""
    return isinstance(error, InvocationError) and error.code in _NOT_READY and not error.ran and takes_jobs()


def whole_is_for_a_job(error: BaseException | None) -> bool:
    """Whether a job can answer instead of a call of POST /generate without `stream`: only if the model sleeps."""
    return sleeps() and is_for_a_job(error)


def or_by_job(request: Request, route: Route, by_job: Route) -> Answered:
    """Return the route's response, or a job's if the endpoint was not ready. If the model may have run, errors stay."""
    try:
        response = route(request)
    except InvocationError as error:
        if not whole_is_for_a_job(error):
            raise
        return by_job(request)
    if not isinstance(response, StreamedResponse) or not request.caller:
        return response
    return StreamedResponse(_pieces(request, response.pieces, by_job), response.content_type)


def _pieces(request: Request, pieces: Iterator[bytes], by_job: Route) -> Iterator[bytes]:
    try:
        yield from pieces
        return
    except InvocationError as error:
        if not is_for_a_job(error):
            raise
    finally:
        close(pieces)
    instead = by_job(request)
    if isinstance(instead, StreamedResponse):
        yield from instead.pieces
    else:
        yield instead.text.encode()
