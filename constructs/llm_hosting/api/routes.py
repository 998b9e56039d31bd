"""The routes of the API, once: the stack adds them, the gateway's text for unknown routes and the OpenAPI document name
them.

Which module answers a route within the function of the short routes is said by inference_api/handlers/route.py.
"""

from typing import Literal, NamedTuple

HttpMethod = Literal["DELETE", "GET", "POST"]


class Route(NamedTuple):
    """id: of the operation in the OpenAPI document; on OpenAI's routes its own, which clients have methods for.

    function: the one that answers. `generate` streams, `poll_job` holds its callers, `short` has all others.
    jobs, openai: only where the deployment takes jobs, or has the routes of OpenAI's clients. These send the key as
    `Authorization: Bearer`, and not in `x-api-key`.
    is_hint: the answer to an unknown route names it.
    """

    id: str
    method: HttpMethod
    path: str
    function: Literal["generate", "poll_job", "short"] = "short"
    jobs: bool = False
    openai: bool = False
    is_hint: bool = False

    @property
    def streams(self) -> bool:
        """Whether the answer can come piece by piece."""
        return self.function == "generate"


ROUTES = (
    Route("generate", "POST", "/generate", "generate", is_hint=True),
    Route("submitJob", "POST", "/jobs", jobs=True, is_hint=True),
    Route("listJobs", "GET", "/jobs", jobs=True, is_hint=True),
    Route("retrieveJob", "GET", "/jobs/{id}", "poll_job", jobs=True, is_hint=True),
    Route("cancelJob", "DELETE", "/jobs/{id}", jobs=True, is_hint=True),
    Route("createChatCompletion", "POST", "/chat/completions", "generate", openai=True, is_hint=True),
    Route("createCompletion", "POST", "/completions", "generate", openai=True, is_hint=True),
    Route("listModels", "GET", "/models", openai=True, is_hint=True),
    Route("retrieveModel", "GET", "/models/{id+}", openai=True),  # most ids have a slash
    Route("createFile", "POST", "/files", jobs=True, openai=True, is_hint=True),
    Route("listFiles", "GET", "/files", jobs=True, openai=True),
    Route("retrieveFile", "GET", "/files/{id}", jobs=True, openai=True),
    Route("deleteFile", "DELETE", "/files/{id}", jobs=True, openai=True),
    Route("downloadFile", "GET", "/files/{id}/content", jobs=True, openai=True),
    Route("createBatch", "POST", "/batches", jobs=True, openai=True, is_hint=True),
    Route("listBatches", "GET", "/batches", jobs=True, openai=True),
    Route("retrieveBatch", "GET", "/batches/{id}", jobs=True, openai=True),
    Route("cancelBatch", "POST", "/batches/{id}/cancel", jobs=True, openai=True),
    Route("describeEndpoint", "GET", "/endpoint", is_hint=True),
)


def routes_of(*, takes_jobs: bool, openai: bool) -> tuple[Route, ...]:
    """The routes of one deployment. openai: whether it has those of OpenAI's clients."""
    return tuple(each for each in ROUTES if each.jobs <= takes_jobs and each.openai <= openai)
