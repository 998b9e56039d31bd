"""The environment of all functions but the authorizer: the variables that `inference_api.shared.settings` reads."""

import json
from collections.abc import Mapping

from ..catalog.engines import engine
from ..deployment.model import Deployment
from ..resolution import Resolution
from ..resolution.images import image_rules


def function_environment(
    name: str, resolution: Resolution, of_mode: Mapping[str, str], of_jobs: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the variables of a deployment's functions.

    name: the name of the service. of_mode: the variables that the hosting mode adds.
    of_jobs: the variables of the JobStore; None if the deployment takes no jobs.
    """
    deployment = resolution.deployment
    variables = {
        **of_mode,
        "MODEL_ID": deployment.model.id,
        "ENGINE": deployment.serving.engine,
        "ENGINE_VERSION": resolution.version,
        "HOSTING_MODE": deployment.hosting.mode,
        "LONGEST_WAIT_IN_SECONDS": str(deployment.api.longest_wait_in_seconds),
        "MAX_BODY_BYTES": str(deployment.api.max_body_in_kb * 1024),
        "REQUEST_SCHEMA": _compact(_request_schema(resolution)),
    }
    if deployment.model.adapters:
        variables |= {"ADAPTERS": ",".join(sorted(deployment.model.adapters))}
    if deployment.logs.requests == "none":
        variables |= {"LOG_REQUESTS": "none"}
    if deployment.operations.dashboard:
        variables |= {"DASHBOARD_OF": name}
    if deployment.traces:
        variables |= {"TRACING": "on"}
    if of_jobs is None:
        return variables
    return variables | {
        "DEPLOYMENT_NAME": name,
        **of_jobs,
        "JOB_SETTINGS": _compact(_job_settings(deployment)),
    }


def openai_environment(resolution: Resolution) -> dict[str, str]:
    """Return the variables of OpenAI's routes and of browsers.

    Machines do not get them, because a change would replace each machine.
    """
    facts = {"OPENAI_ROUTES": ",".join(resolution.openai_routes), "OPENAI_FACTS": _compact(resolution.openai_facts)}
    cors = resolution.deployment.api.cors
    return facts | ({"CORS_ORIGINS": ",".join(cors.origins)} if cors else {})


def _request_schema(resolution: Resolution) -> dict[str, object]:
    aliases, own = resolution.container.model_aliases, engine(resolution.deployment.serving.engine)
    schema: dict[str, object] = {
        "bodies": resolution.bodies,
        "parameters": resolution.parameters,
        "model_aliases": aliases,
    }
    # Left out for most engines, because Lambda takes only 4 kB of variables.
    may_hold_images = "messages" in resolution.bodies or resolution.container.server == "tgi"
    if may_hold_images and (images := image_rules(resolution.container)) is not None:
        schema["images"] = images
    return schema | ({"names": own.names, "most_answers": own.most_answers} if own.names else {})


def _job_settings(deployment: Deployment) -> dict[str, int | None]:
    jobs = deployment.jobs
    return {
        "retention_in_seconds": jobs.retention_in_seconds,
        "deadline_in_seconds": jobs.deadline_in_seconds,
        "invocation_timeout_in_seconds": deployment.invocation_timeout_in_seconds,
        "max_waiting": jobs.max_waiting,
        "open_jobs": jobs.limits.open_jobs,
        "answer_tokens_per_day": jobs.limits.answer_tokens_per_day,
    }


def _compact(value: Mapping[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"))
