"""Rules over settings that contradict each other, or that another setting makes useless: one table each."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...catalog.engines import engine
from ...deployment.finding import Finding
from ...deployment.model import REALTIME_TIMEOUT_IN_SECONDS, Deployment
from ...resolution import Resolution
from .rule import error, warning

_MOST_ASYNC_REQUESTS = 1000  # MaxConcurrentInvocationsPerInstance
_MOST_REQUESTS_BY_PREFIX = 1024  # ConcurrencyThreshold

_ALARM_REACTION_IN_SECONDS = 240  # two datapoints of a minute each, and the delay of metrics


class _Requirement(NamedTuple):
    """A setting and the setting that it needs; problem and fix may hold the field's `{value}` and `{deployment...}`."""

    field: str
    is_broken: Callable[[Deployment], bool]
    problem: str
    fix: str


def _routes_by_prefix(deployment: Deployment) -> bool:
    return deployment.hosting.routing == "prefix-aware"


_NEEDED = (
    _Requirement(
        "jobs.enabled",
        lambda d: d.jobs.enabled and d.api.auth == "none",
        "true is refused with api.auth: none, which cannot tell the owners of jobs apart",
        "use false, or api.auth: iam",
    ),
    _Requirement(
        "jobs.enabled",
        lambda d: d.hosting.queues_in_sagemaker and not d.jobs.enabled,
        "false is refused with hosting.mode: async, which takes nothing but jobs",
        "use true, or mode: realtime",
    ),
    _Requirement(
        "jobs.enabled",
        lambda d: d.hosting.runs_on_machines and not d.jobs.enabled,
        "false is refused with hosting.mode: ec2, whose machines take nothing but jobs",
        "use true, or mode: realtime",
    ),
    _Requirement(
        "security.vpc",
        lambda d: not d.hosting.runs_on_machines and d.security.vpc is not None,
        "is refused with hosting.mode: {deployment.hosting.mode}, whose container runs in SageMaker's network",
        "remove it, or use mode: ec2",
    ),
    _Requirement(
        "jobs.invocation_timeout_in_seconds",
        lambda d: d.hosting.answers_at_once and "invocation_timeout_in_seconds" in d.jobs.model_fields_set,
        "{value} is refused with hosting.mode: realtime, where SageMaker ends each call after "
        f"{REALTIME_TIMEOUT_IN_SECONDS} s",
        "remove it, or use mode: async",
    ),
    _Requirement(
        "jobs.max_concurrency",
        lambda d: d.hosting.queues_in_sagemaker and d.jobs.max_concurrency is not None,
        "{value} is refused with hosting.mode: async, where SageMaker itself sends the requests",
        "use hosting.scaling.concurrent_requests_per_instance",
    ),
    _Requirement(
        "jobs.on_destroy",
        lambda d: d.jobs.deletion_protection and d.jobs.on_destroy == "delete",
        "{value} is refused with jobs.deletion_protection: true",
        "use retain, or deletion_protection: false",
    ),
    _Requirement(
        "api.quota",
        lambda d: d.api.quota is not None and d.api.auth != "api-key",
        "needs api.auth: api-key, not {deployment.api.auth}: API Gateway counts quotas per API key",
        "remove it, or change api.auth",
    ),
    _Requirement(
        "api.keys",
        lambda d: bool(d.api.keys) and d.api.auth != "api-key",
        "needs api.auth: api-key, not {deployment.api.auth}, which asks nobody for a key",
        "remove it, or change api.auth",
    ),
    _Requirement(
        "hosting.instance_count.min",
        lambda d: d.hosting.answers_at_once and d.hosting.instance_count.min == 0,
        "0 is refused with hosting.mode: realtime, because nothing would wake the endpoint",
        "use 1 or more, or mode: async, which wakes for a job",
    ),
    _Requirement(
        "hosting.instance_count.max",
        lambda d: d.hosting.instance_count.max < d.hosting.instance_count.min,
        "{value} is less than min ({deployment.hosting.instance_count.min})",
        "use {deployment.hosting.instance_count.min} or more",
    ),
    _Requirement(
        "hosting.instance_type",
        lambda d: len(set(d.hosting.instance_types)) < len(d.hosting.instance_types),
        "{value} names a type twice, and SageMaker refuses two pools of one type",
        "remove one",
    ),
    _Requirement(
        "hosting.scaling.concurrent_requests_per_instance",
        lambda d: (
            d.hosting.queues_in_sagemaker and d.hosting.scaling.concurrent_requests_per_instance > _MOST_ASYNC_REQUESTS
        ),
        "{value} is refused with hosting.mode: async",
        f"use at most {_MOST_ASYNC_REQUESTS}",
    ),
    _Requirement(
        "hosting.scaling.concurrent_requests_per_instance",
        lambda d: (
            _routes_by_prefix(d) and d.hosting.scaling.concurrent_requests_per_instance > _MOST_REQUESTS_BY_PREFIX
        ),
        "{value} is refused with hosting.routing: prefix-aware",
        f"use at most {_MOST_REQUESTS_BY_PREFIX}",
    ),
    _Requirement(
        "hosting.routing",
        lambda d: d.hosting.queues_in_sagemaker and _routes_by_prefix(d),
        "{value} is for real-time endpoints",
        "remove it, or use hosting.mode: realtime",
    ),
    _Requirement(
        "hosting.network_isolation",
        lambda d: d.hosting.network_isolation and d.model.weights is None,
        "true cuts the container off from the Hugging Face Hub",
        "set model.weights to an S3 prefix, or use false",
    ),
    _Requirement(
        "hosting.network_isolation",
        lambda d: d.hosting.network_isolation and d.serving.handler is not None,
        "true cuts serving.handler off from its packages and from S3",
        "use false, or an engine's own handler",
    ),
    _Requirement(
        "model.weights_kms_key_arn",
        lambda d: d.model.weights_kms_key_arn is not None and d.model.weights is None,
        "has nothing to decrypt, because model.weights is not set",
        "set model.weights, or remove the key",
    ),
    _Requirement(
        "serving.image_uri",
        lambda d: d.serving.engine == "custom" and d.serving.image_uri is None,
        "is required with serving.engine: custom",
        "name the image in Amazon ECR",
    ),
    _Requirement(
        "serving.handler",
        lambda d: d.serving.handler is not None and engine(d.serving.engine).server != "djl",
        "{value} does not run on this serving.engine, because only DJL Serving takes a model.py",
        "use an engine lmi-..., or remove it",
    ),
    _Requirement(
        "serving.max_batch_size",
        lambda d: d.serving.handler is not None and (d.serving.max_batch_size or 1) > 1,
        "{value} is refused with serving.handler: DJL Serving hands a batch to a handler as one call, and the "
        "handlers in model_src/ do not take it apart",
        "remove it",
    ),
)

_USELESS = (
    *(
        _Requirement(
            f"hosting.{name}",
            lambda d, name=name: not d.hosting.runs_on_machines and name in d.hosting.model_fields_set,  # type: ignore[misc]
            "has no effect with hosting.mode: {deployment.hosting.mode}",
            "remove it, or use mode: ec2",
        )
        for name in ("idle_minutes", "renewal")
    ),
    _Requirement(
        "hosting.routing",
        lambda d: _routes_by_prefix(d) and d.hosting.instance_count.max == 1 and not d.hosting.runs_on_machines,
        "{value} has no effect with one instance",
        "make hosting.instance_count.max larger, or remove it",
    ),
    _Requirement(
        "hosting.routing_prefix_in_bytes",
        lambda d: (
            not d.hosting.runs_on_machines
            and not _routes_by_prefix(d)
            and "routing_prefix_in_bytes" in d.hosting.model_fields_set
        ),
        "has no effect with hosting.routing: {deployment.hosting.routing}",
        "use hosting.routing: prefix-aware, or remove it",
    ),
    _Requirement(
        "model.revision",
        lambda d: d.model.revision is not None and d.model.weights is not None,
        "{value} has no effect, because the weights come from model.weights",
        "remove it",
    ),
    _Requirement(
        "hosting.scaling.backlog_per_instance",
        lambda d: (
            d.hosting.answers_at_once and d.hosting.instance_count.is_scaled and _is_set(d, "backlog_per_instance")
        ),
        "has no effect with hosting.mode: realtime",
        "use concurrent_requests_per_instance",
    ),
    _Requirement(
        "hosting.update_wait_in_seconds",
        lambda d: not d.hosting.runs_on_machines and d.hosting.update_wait_in_seconds < _ALARM_REACTION_IN_SECONDS,
        "{value} is too short for the alarms, so a bad update is not rolled back",
        f"use {_ALARM_REACTION_IN_SECONDS} or more",
    ),
    _Requirement(
        "alarms.latency_in_seconds",
        lambda d: d.hosting.queues_in_sagemaker and "latency_in_seconds" in d.alarms.model_fields_set,
        "has no effect with hosting.mode: async, where jobs.invocation_timeout_in_seconds ends slow calls",
        "remove it",
    ),
)


@error
def settings_agree(resolution: Resolution) -> Iterator[Finding]:
    """A setting that needs another setting must have it."""
    yield from _broken(_NEEDED, resolution.deployment)


@warning
def settings_have_an_effect(resolution: Resolution) -> Iterator[Finding]:
    """A setting must not be useless because of another one."""
    deployment = resolution.deployment
    yield from _broken(_USELESS, deployment)
    if not deployment.jobs.enabled:
        for name in sorted(deployment.jobs.model_fields_set - {"enabled"}):
            yield Finding(f"jobs.{name}", "has no effect with jobs.enabled: false", "remove it")
    if not deployment.hosting.instance_count.is_scaled and not deployment.hosting.runs_on_machines:
        # With a fixed count the concurrency of an instance still bounds jobs, and the requests of one prefix.
        is_bound = deployment.jobs.enabled or _routes_by_prefix(deployment)
        used = {"concurrent_requests_per_instance"} if is_bound else set()
        for name in sorted(deployment.hosting.scaling.model_fields_set - used):
            count = deployment.hosting.instance_count.min
            yield Finding(
                f"hosting.scaling.{name}",
                f"has no effect with a fixed count of {count}",
                "make hosting.instance_count.max larger",
            )


def _broken(table: tuple[_Requirement, ...], deployment: Deployment) -> Iterator[Finding]:
    for requirement in table:
        if requirement.is_broken(deployment):
            values = {"value": _value(deployment, requirement.field), "deployment": deployment}
            yield Finding(requirement.field, requirement.problem.format(**values), requirement.fix.format(**values))


def _value(deployment: Deployment, field: str) -> str:
    found: object = deployment
    for part in field.split("."):
        found = getattr(found, part)
    return repr(found)


def _is_set(deployment: Deployment, name: str) -> bool:
    return name in deployment.hosting.scaling.model_fields_set
