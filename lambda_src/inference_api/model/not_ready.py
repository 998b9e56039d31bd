"""A request that the endpoint refuses as not ready is answered by a job, if the deployment has jobs."""

from collections.abc import Callable, Iterator

from inference_api.http.gateway import Request, Response, StreamedResponse
from inference_api.http.streaming_runtime import close
from inference_api.shared.errors import InvocationError
from inference_api.shared.settings import takes_jobs

Answered = Response | StreamedResponse


def is_for_a_job(error: BaseException | None) -> bool:
    """Whether a job can answer instead of a call: the endpoint refused the call as not ready, before the model ran."""
    return isinstance(error, InvocationError) and error.code == "endpoint_not_ready" and not error.ran and takes_jobs()


def or_by_job(request: Request, response: Answered, by_job: Callable[[Request], Answered]) -> Answered:
    """Return the response, or a job's if the endpoint was not ready. If the model may have run, the error stays."""
    if not isinstance(response, StreamedResponse) or not request.caller:
        return response
    return StreamedResponse(_pieces(request, response.pieces, by_job), response.content_type)


def _pieces(request: Request, pieces: Iterator[bytes], by_job: Callable[[Request], Answered]) -> Iterator[bytes]:
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
