"""Rules over the way to the first answer, and the time of each: download, load, limits of the routes."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..catalog.model_names import is_gated_by_name
from ..container_settings import REALTIME_TIMEOUT_IN_SECONDS
from ..deployment import Deployment
from .estimates import Estimate, answer_time_in_seconds, download_in_seconds, load_in_seconds, start_in_seconds
from .finding import error, warning
from .plan import Plan, container, plans

ROUTE_LIMIT_IN_SECONDS = 25  # the function stops reading from the endpoint then; the gateway itself gives up at 29
LONGEST_TIMEOUT_IN_SECONDS = 3600
_BECAME_GATED = re.compile(r"(?i)mistralai/(Mistral-7B-(Instruct-)?v0\.[123]|Mixtral-8x(7|22)B-(Instruct-)?v0\.1)$")
_TOKEN_NAMES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN")


@error
def gated_model_needs_token(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The Hub answers 401 for a gated model without a token, and the container ends."""
    plan = container(deployment)
    gated = plan.shape.gated if plan.shape else is_gated_by_name(plan.model_id)
    if gated and plan.comes_from_hub and not _has_token(plan):
        yield (
            "model.hub_token_secret_arn",
            f"is missing: {plan.model_id} is gated on the Hub; copy the weights to S3 once (`python -m slipway "
            "stage`) and set model.weights, or name the secret that holds a token.",
        )


@warning
def model_became_gated(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Mistral AI asks for consent for its first models since April 2024; what ran without a token no longer starts."""
    plan = container(deployment)
    if plan.comes_from_hub and not _has_token(plan) and _BECAME_GATED.match(plan.model_id):
        yield (
            "model.hub_token_secret_arn",
            f"is missing: {plan.model_id} was open once and then gated; name the secret with a token, or copy the "
            "weights to S3 (`python -m slipway stage`) and set model.weights.",
        )


@warning
def token_is_readable(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A secret in a container's environment is plain text for whoever may describe the model."""
    if deployment.model.hub_token_secret_arn and deployment.model.weights is None:
        yield (
            "model.hub_token_secret_arn",
            "hands the token to the container, where whoever may describe the model can read it; weights staged to S3 "
            "(`python -m slipway stage`) need none.",
        )


@error
def start_fits_timeout(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Even at the fastest rates that are published, download and load take longer than the endpoint is given."""
    for plan in plans(deployment):
        for stage in _stages(plan):
            least = stage.takes.least
            if least is not None and least > stage.given:
                yield (
                    stage.field,
                    f"{stage.given} s are too short: to {stage.what} {plan.model_id} takes {least:.0f} s at the very "
                    f"least; use {_timeout_for(stage.takes.likely or least)}.",
                )


@warning
def start_may_outlast_timeout(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """At usual rates it would take longer."""
    for plan in plans(deployment):
        for stage in _stages(plan):
            least, likely = stage.takes.least, stage.takes.likely
            if least is not None and likely is not None and least <= stage.given < likely:
                yield (
                    stage.field,
                    f"{stage.given} s may be too short: to {stage.what} {plan.model_id} is likely to take {likely:.0f} "
                    f"s ({stage.takes.words}); use {_timeout_for(likely)}.",
                )


@warning
def loading_fits_timeout(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """DJL Serving may not be more patient than SageMaker."""
    given = deployment.hosting.startup_timeout_in_seconds
    plan = container(deployment)
    loading = plan.number("OPTION_MODEL_LOADING_TIMEOUT", "MODEL_LOADING_TIMEOUT")
    if loading and loading > given:
        yield (
            "hosting.startup_timeout_in_seconds",
            f"{given} s end the start before the model's own loading timeout ({loading:.0f} s); use {loading:.0f} "
            "or more.",
        )


@warning
def answer_fits_route(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """POST /generate gives up before the gateway does."""
    for plan in plans(deployment):
        seconds = answer_time_in_seconds(plan)
        if seconds is None or deployment.hosting.mode != "realtime" or seconds.likely <= ROUTE_LIMIT_IN_SECONDS:
            continue
        tokens = f"{deployment.serving.max_new_tokens} tokens take about {seconds.likely:.0f} s ({seconds.words})"
        if seconds.likely <= REALTIME_TIMEOUT_IN_SECONDS:
            yield (
                "serving.max_new_tokens",
                f"{tokens}, longer than POST /generate waits ({ROUTE_LIMIT_IN_SECONDS} s; the gateway's limit is "
                "29 s); have such answers fetched by POST /jobs, or ask for fewer tokens.",
            )
        elif seconds.least <= REALTIME_TIMEOUT_IN_SECONDS:
            yield (
                "serving.max_new_tokens",
                f"{tokens}, longer than a real-time endpoint may ({REALTIME_TIMEOUT_IN_SECONDS} s); use hosting.mode: "
                "async, or ask for fewer tokens.",
            )


@error
def answer_fits_endpoint(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker ends each call of a real-time endpoint after 60 s, that of a job too."""
    for plan in plans(deployment):
        seconds = answer_time_in_seconds(plan)
        if seconds and deployment.hosting.mode == "realtime" and seconds.least > REALTIME_TIMEOUT_IN_SECONDS:
            yield (
                "serving.max_new_tokens",
                f"{deployment.serving.max_new_tokens} tokens take at least {seconds.least:.0f} s ({seconds.words}), "
                f"longer than a real-time endpoint may ({REALTIME_TIMEOUT_IN_SECONDS} s); use hosting.mode: async, "
                "which serves jobs, or ask for fewer tokens.",
            )


def _has_token(plan: Plan) -> bool:
    named = plan.deployment.model.hub_token_secret_arn is not None
    return named or any(name in plan.environment for name in _TOKEN_NAMES)


class _Stage(NamedTuple):
    """A part of the start, what it takes, and the timeout that covers it."""

    what: str
    takes: Estimate
    field: str
    given: int


def _stages(plan: Plan) -> Iterator[_Stage]:
    """Weights in S3 that SageMaker fetches have a timeout of their own; else the container downloads."""
    hosting = plan.deployment.hosting
    startup = ("hosting.startup_timeout_in_seconds", hosting.startup_timeout_in_seconds)
    if plan.sagemaker_downloads:
        download = ("hosting.download_timeout_in_seconds", hosting.download_timeout_in_seconds)
        yield _Stage("download", download_in_seconds(plan), *download)
        yield _Stage("load", load_in_seconds(plan), *startup)
    else:
        yield _Stage("download and load", start_in_seconds(plan), *startup)


def _timeout_for(seconds: float) -> str:
    """In steps of five minutes, up to SageMaker's limit."""
    if seconds > LONGEST_TIMEOUT_IN_SECONDS:
        return f"{LONGEST_TIMEOUT_IN_SECONDS}, the most that SageMaker takes, and a smaller model or quantized weights"
    return f"{math.ceil(seconds / 300) * 300} or more"
