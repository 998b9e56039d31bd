"""Rules over times: download and load against the endpoint's timeouts, answers against the routes' limits."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from ...deployment.finding import Finding
from ...deployment.model import REALTIME_TIMEOUT_IN_SECONDS
from ...resolution import Placement, Resolution
from ...resolution.estimates import (
    Estimate,
    answer_time_in_seconds,
    download_in_seconds,
    load_in_seconds,
    set_up_in_seconds,
    start_in_seconds,
)
from .rule import error, note, warning

_LONGEST_TIMEOUT_IN_SECONDS = 3600
_LONGEST_CREATION_IN_SECONDS = 160 * 60  # AWS::SageMaker::Endpoint, handlers.create.timeoutInMinutes of its schema


class _Stage(NamedTuple):
    """A part of the start, its duration, and the timeout that covers it."""

    verb: str
    takes: Estimate
    field: str
    timeout: int


@error
def start_fits_timeout(resolution: Resolution) -> Iterator[Finding]:
    """Download and load, or a machine's set-up, must fit the timeout at the fastest published rates."""
    for placement in resolution.placements:
        for stage in _stages(placement):
            least = stage.takes.least
            if least is not None and least > stage.timeout:
                needed = stage.takes.likely or least
                yield _too_short(resolution, stage, "are", f"takes at least {least:.0f} s", needed)


@note
def start_may_outlast_timeout(resolution: Resolution) -> Iterator[Finding]:
    """At usual rates, download and load, or a machine's set-up, may outlast the timeout; many start in time even so."""
    for placement in resolution.placements:
        for stage in _stages(placement):
            least, likely = stage.takes.least, stage.takes.likely
            if least is not None and likely is not None and least <= stage.timeout < likely:
                takes = f"takes about {likely:.0f} s ({stage.takes.basis})"
                yield _too_short(resolution, stage, "may be", takes, likely)


@error
def creation_fits_cloudformation(resolution: Resolution) -> Iterator[Finding]:
    """CloudFormation waits 160 minutes for a new endpoint; then it fails to delete one that is still being created."""
    hosting = resolution.deployment.hosting
    if hosting.provision_timeout_in_seconds is None:
        return
    timeouts = (
        hosting.provision_timeout_in_seconds,
        hosting.download_timeout_in_seconds,
        hosting.startup_timeout_in_seconds,
    )
    if sum(timeouts) > _LONGEST_CREATION_IN_SECONDS:
        terms = " + ".join(map(str, timeouts))
        yield Finding(
            "hosting.provision_timeout_in_seconds",
            f"{terms} s to provision, download and start are more than the {_LONGEST_CREATION_IN_SECONDS} s that "
            "CloudFormation waits for an endpoint; its rollback would fail, and the instances would go on billing",
            f"shorten the timeouts by {sum(timeouts) - _LONGEST_CREATION_IN_SECONDS} s in all",
        )


@warning
def answer_fits_route(resolution: Resolution) -> Iterator[Finding]:
    """The longest answer should be ready before POST /generate gives up."""
    deployment = resolution.deployment
    if not deployment.hosting.answers_at_once:
        return
    for placement in resolution.placements:
        seconds = answer_time_in_seconds(placement)
        if seconds is None or seconds.likely <= deployment.answer_limit_in_seconds:
            continue
        tokens = deployment.serving.max_new_tokens
        answer = f"{tokens} tokens take about {seconds.likely:.0f} s ({seconds.basis})"
        if seconds.likely <= REALTIME_TIMEOUT_IN_SECONDS:
            yield Finding(
                "serving.max_new_tokens",
                f"{answer}, longer than POST /generate waits ({deployment.answer_limit_in_seconds} s; the gateway's "
                f"limit is {deployment.api.timeout_in_seconds} s)",
                "use POST /jobs for such answers, ask for fewer tokens, or raise api.timeout_in_seconds",
            )
        elif seconds.least <= REALTIME_TIMEOUT_IN_SECONDS:
            yield Finding(
                "serving.max_new_tokens",
                f"{answer}, longer than a real-time endpoint may take ({REALTIME_TIMEOUT_IN_SECONDS} s)",
                "use hosting.mode: async, or ask for fewer tokens",
            )


@error
def answer_fits_endpoint(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker ends each invocation of a real-time endpoint after 60 s, also one for a job."""
    if not resolution.deployment.hosting.answers_at_once:
        return
    for placement in resolution.placements:
        seconds = answer_time_in_seconds(placement)
        if seconds and seconds.least > REALTIME_TIMEOUT_IN_SECONDS:
            tokens = resolution.deployment.serving.max_new_tokens
            yield Finding(
                "serving.max_new_tokens",
                f"{tokens} tokens take at least {seconds.least:.0f} s ({seconds.basis}), longer than a real-time "
                f"endpoint may take ({REALTIME_TIMEOUT_IN_SECONDS} s)",
                "use hosting.mode: async, which serves jobs, or ask for fewer tokens",
            )


def _stages(placement: Placement) -> Iterator[_Stage]:
    """Yield the stages of a start. Weights that SageMaker fetches from S3 have a timeout of their own."""
    deployment = placement.container.deployment
    startup = ("hosting.startup_timeout_in_seconds", deployment.hosting.startup_timeout_in_seconds)
    if deployment.hosting.runs_on_machines:
        yield _Stage("set up a machine with", set_up_in_seconds(placement), *startup)
    elif placement.container.sagemaker_downloads:
        download = ("hosting.download_timeout_in_seconds", deployment.hosting.download_timeout_in_seconds)
        yield _Stage("download", download_in_seconds(placement), *download)
        yield _Stage("load", load_in_seconds(placement), *startup)
    else:
        yield _Stage("download and load", start_in_seconds(placement), *startup)


def _too_short(resolution: Resolution, stage: _Stage, verb: str, takes: str, needed: float) -> Finding:
    problem = f"{stage.timeout} s {verb} too short: to {stage.verb} {resolution.container.model_id} {takes}"
    return Finding(stage.field, problem, f"use {_timeout_for(needed)}")


def _timeout_for(seconds: float) -> str:
    """Return the timeout in steps of five minutes, up to SageMaker's limit."""
    if seconds > _LONGEST_TIMEOUT_IN_SECONDS:
        return f"{_LONGEST_TIMEOUT_IN_SECONDS}, the most that SageMaker takes, and a smaller model or quantized weights"
    return f"{math.ceil(seconds / 300) * 300} or more"
