"""Rules over `jobs`: who may submit, how long a job may take, and what has an effect in which mode."""

from collections.abc import Iterator

from ..container_settings import REALTIME_TIMEOUT_IN_SECONDS, invocation_timeout_in_seconds
from ..deployment import Deployment
from .finding import error, warning

# No attempt is started when less than the invocation timeout and five minutes is left; a minute is the least that
# SageMaker and the queue need to hand one over.
MARGIN_IN_SECONDS = 300 + 60
LONGEST_IN_ASYNC_QUEUE = 21_600  # SageMaker drops a request that has waited for six hours


@error
def jobs_have_owners(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Without authorization everybody could read everybody's jobs."""
    if deployment.jobs.enabled and deployment.api.auth == "none":
        yield (
            "jobs.enabled",
            "true is refused with api.auth: none, which cannot tell whose a job is; use false, or api.auth: iam.",
        )


@error
def async_needs_jobs(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An asynchronous endpoint takes nothing but jobs."""
    if deployment.hosting.mode == "async" and not deployment.jobs.enabled:
        yield (
            "jobs.enabled",
            "false is refused with hosting.mode: async, which takes nothing but jobs; use true, or mode: realtime.",
        )


@error
def deadline_leaves_time(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A job that can never be started would always expire."""
    jobs, timeout = deployment.jobs, invocation_timeout_in_seconds(deployment)
    least = timeout + MARGIN_IN_SECONDS
    if jobs.enabled and jobs.deadline_in_seconds < least:
        yield (
            "jobs.deadline_in_seconds",
            f"{jobs.deadline_in_seconds} leaves no time for an attempt of {timeout} s; use {least} or more, or a "
            "shorter jobs.invocation_timeout_in_seconds.",
        )


@error
def deadline_outlasts_no_queue(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """What waits longer than SageMaker's queue keeps it is lost, and tried again behind all others."""
    jobs = deployment.jobs
    most = LONGEST_IN_ASYNC_QUEUE + invocation_timeout_in_seconds(deployment) + MARGIN_IN_SECONDS
    if jobs.enabled and deployment.hosting.mode == "async" and jobs.deadline_in_seconds > most:
        yield (
            "jobs.deadline_in_seconds",
            f"{jobs.deadline_in_seconds} is longer than SageMaker keeps a request (6 h) and runs it; use {most} or "
            "less, or hosting.mode: realtime.",
        )


@warning
def deadline_outlasts_start(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The first job at zero instances waits for one to start."""
    jobs, hosting = deployment.jobs, deployment.hosting
    start = hosting.download_timeout_in_seconds + hosting.startup_timeout_in_seconds
    enough = start + invocation_timeout_in_seconds(deployment) + MARGIN_IN_SECONDS
    if jobs.enabled and hosting.instance_count.min == 0 and jobs.deadline_in_seconds < enough:
        yield (
            "jobs.deadline_in_seconds",
            f"{jobs.deadline_in_seconds} may pass while the first instance starts, which is given {start} s; "
            f"use {enough} or more, or shorter timeouts.",
        )


@error
def timeout_needs_async(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A real-time endpoint has one limit for all."""
    if "invocation_timeout_in_seconds" in deployment.jobs.model_fields_set and deployment.hosting.mode == "realtime":
        yield (
            "jobs.invocation_timeout_in_seconds",
            f"{deployment.jobs.invocation_timeout_in_seconds} is refused with hosting.mode: realtime, where SageMaker "
            f"ends each call after {REALTIME_TIMEOUT_IN_SECONDS} s; remove it, or use mode: async.",
        )


@error
def workers_need_realtime(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An asynchronous endpoint has no workers in front of it."""
    if deployment.jobs.max_concurrency is not None and deployment.hosting.mode == "async":
        yield (
            "jobs.max_concurrency",
            f"{deployment.jobs.max_concurrency} is refused with hosting.mode: async, where SageMaker itself feeds the "
            "model; use hosting.scaling.concurrent_requests_per_instance.",
        )


@error
def protection_needs_retain(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A destroy would stop half-way, at the table."""
    if deployment.jobs.deletion_protection and deployment.jobs.on_destroy == "delete":
        yield "jobs.on_destroy", "'delete' would fail with jobs.deletion_protection: true; change one of them."


@warning
def settings_need_jobs(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Without jobs nothing reads what is said about them."""
    if not deployment.jobs.enabled:
        for name in sorted(deployment.jobs.model_fields_set - {"enabled"}):
            yield f"jobs.{name}", "has no effect with jobs.enabled: false; remove it."


@warning
def latency_needs_realtime(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The answers to jobs take as long as they take."""
    if "latency_in_seconds" in deployment.alarms.model_fields_set and deployment.hosting.mode == "async":
        yield (
            "alarms.latency_in_seconds",
            "has no effect with hosting.mode: async; jobs.invocation_timeout_in_seconds ends what takes too long.",
        )
