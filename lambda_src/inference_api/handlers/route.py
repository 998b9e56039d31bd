"""The short routes in one function. A route's module is imported at its first call, so the function starts fast."""

from importlib import import_module
from typing import Any

from inference_api.http.gateway import Event
from inference_api.shared.settings import settings

# By method and path, or by the path's first part. A module that is named here counts as imported when its code is put
# inline (llm_hosting/portable/code/import_closure.py).
MODULES = {
    "POST /jobs": "inference_api.handlers.submit_job",
    "GET /jobs": "inference_api.handlers.list_jobs",
    "DELETE /jobs/{id}": "inference_api.handlers.cancel_job",
    "files": "inference_api.handlers.files",
    "batches": "inference_api.handlers.batches",
    "models": "inference_api.handlers.models",
}
_DESCRIBE_ENDPOINT = "inference_api.handlers.describe_endpoint"
_DESCRIBE_MACHINES = "inference_api.handlers.describe_machines"


def handler(event: Event, context: Any) -> dict[str, Any]:
    """Call the handler of the event's route."""
    answer: dict[str, Any] = import_module(module_of(event)).handler(event, context)
    return answer


def module_of(event: Event) -> str:
    """Return the name of the module that handles the event's route."""
    path = event["resource"]
    if path == "/endpoint":
        return _DESCRIBE_MACHINES if settings().runs_on_machines else _DESCRIBE_ENDPOINT
    return MODULES.get(f"{event['httpMethod']} {path}") or MODULES[path.split("/")[1]]
