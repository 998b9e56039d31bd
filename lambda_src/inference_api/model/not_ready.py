"""A request that the endpoint refuses as not ready is answered by a job, if the deployment has jobs.

A stream of a model that sleeps is held instead (jobs/held_stream.py), and then comes from the endpoint itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

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
    answers = [response]
    return replace(
        response, pieces=_pieces(request, answers, by_job), last_words=lambda error: answers[-1].last_words(error)
    )


def _pieces(request: Request, answers: list[StreamedResponse], by_job: Route) -> Iterator[bytes]:
    """Yield the pieces of the answer, or those of a job's, which is then added to `answers`."""
    [response] = answers
    try:
        yield from response.pieces
        return
    except InvocationError as error:
        if not is_for_a_job(error):
            raise
    finally:
        close(response.pieces)
    instead = by_job(request)
    if isinstance(instead, StreamedResponse):
        answers.append(instead)
        yield from instead.pieces
    else:
        yield instead.text.encode()
