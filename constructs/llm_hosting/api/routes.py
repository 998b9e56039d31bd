"""The table of the API's routes. The stack, the 404 for unknown routes and the OpenAPI document are made from it.

inference_api/handlers/route.py names the module that answers each of the short routes.
"""

from collections.abc import Collection
from typing import Literal, NamedTuple

HttpMethod = Literal["DELETE", "GET", "POST"]


class Route(NamedTuple):
    """A route of the API.

    id: the operation's id in the OpenAPI document; on OpenAI's routes OpenAI's own, which clients know.
    function: the function that answers: `generate` streams, `poll_job` holds its callers, `short` answers the rest.
    jobs: the route exists only if the deployment takes jobs.
    openai: the route is one of OpenAI's and exists only if the deployment has them. Its clients send the key as
    `Authorization: Bearer` instead of `x-api-key`.
    needs: the route exists only if the engine answers one of these, as Resolution.openai_routes names them.
    is_hint: whether the answer to an unknown route names this one.
    """

    id: str
    method: HttpMethod
    path: str
    function: Literal["generate", "poll_job", "short"] = "short"
    jobs: bool = False
    openai: bool = False
    needs: tuple[str, ...] = ()
    is_hint: bool = False

    @property
    def streams(self) -> bool:
        """Whether the route can stream its answer."""
        return self.function == "generate"


_TEXT = ("chat", "completions")
ROUTES = (
    Route("generate", "POST", "/generate", "generate", is_hint=True),
    Route("submitJob", "POST", "/jobs", jobs=True, is_hint=True),
    Route("listJobs", "GET", "/jobs", jobs=True, is_hint=True),
    Route("retrieveJob", "GET", "/jobs/{id}", "poll_job", jobs=True, is_hint=True),
    Route("cancelJob", "DELETE", "/jobs/{id}", jobs=True, is_hint=True),
    Route("createChatCompletion", "POST", "/chat/completions", "generate", openai=True, needs=_TEXT, is_hint=True),
    Route("createCompletion", "POST", "/completions", "generate", openai=True, needs=_TEXT, is_hint=True),
    Route("createResponse", "POST", "/responses", "generate", openai=True, needs=("chat",), is_hint=True),
    Route("createEmbedding", "POST", "/embeddings", "generate", openai=True, needs=("embeddings",), is_hint=True),
    Route("createRerank", "POST", "/rerank", "generate", openai=True, needs=("rerank",), is_hint=True),
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


def routes_of(*, takes_jobs: bool, openai: Collection[str]) -> tuple[Route, ...]:
    """Return the routes of a deployment. openai: what the engine answers of OpenAI's API (Resolution.openai_routes)."""
    return tuple(
        each
        for each in ROUTES
        if each.jobs <= takes_jobs
        and each.openai <= bool(openai)
        and (not each.needs or any(need in openai for need in each.needs))
    )
