"""POST /generate and OpenAI's routes of a deployment whose model gets only jobs."""

from inference_api.http.gateway import Request, Response, StreamedResponse, streams
from inference_api.http.streaming_runtime import serve
from inference_api.jobs.answer_by_job import by_job


@streams
def route(request: Request) -> Response | StreamedResponse:
    """Answer by a job, in the form of the request's path."""
    return by_job(request)


handler = serve(route)
