"""A rule over settings that contradict each other: one table."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...catalog.engines import engine
from ...deployment.finding import Finding
from ...deployment.model import REALTIME_TIMEOUT_IN_SECONDS, Deployment
from ...resolution import Resolution
from .rule import error

_MOST_ASYNC_REQUESTS = 1000  # MaxConcurrentInvocationsPerInstance
_MOST_REQUESTS_BY_PREFIX = 1024  # ConcurrencyThreshold
_MOST_MACHINES = 50  # with their waits they stay below the 500 resources of a stack
_SMALLEST_VOLUME_IN_GB = 8  # the snapshot of Amazon Linux 2023; EC2 refuses a smaller volume
_NOT_ON_MACHINES = (
    ("serving", "image_uri", "there is no container"),
    ("serving", "environment", "nothing reads it"),
    ("hosting", "network_isolation", "the machine writes results and logs over the network"),
    ("model", "dtype", "the machine chooses the type by the weights and its CPU"),
    ("model", "quantization", "the machine loads weights as they are"),
)

_NO_TEXT = "{value} is refused with model.task: {deployment.model.task}, whose answers hold no tokens"


class Requirement(NamedTuple):
    """A setting and the setting that it needs; problem and fix may hold the field's `{value}` and `{deployment...}`."""

    field: str
    is_broken: Callable[[Deployment], bool]
    problem: str
    fix: str


def routes_by_prefix(deployment: Deployment) -> bool:
    return deployment.hosting.routing == "prefix-aware"


_NEEDED = (
    Requirement(
        "jobs.enabled",
        lambda d: d.jobs.enabled and d.api.auth == "none",
        "true is refused with api.auth: none, which cannot tell the owners of jobs apart",
        "use false, or api.auth: iam",
    ),
    Requirement(
        "jobs.enabled",
        lambda d: d.hosting.queues_in_sagemaker and not d.jobs.enabled,
        "false is refused with hosting.mode: async, which takes nothing but jobs",
        "use true, or mode: realtime",
    ),
    Requirement(
        "jobs.enabled",
        lambda d: d.hosting.runs_on_machines and not d.jobs.enabled,
        "false is refused with hosting.mode: ec2, whose machines take nothing but jobs",
        "use true, or mode: realtime",
    ),
    *(
        Requirement(
            f"security.{name}",
            lambda d, name=name: d.security.customer_keys and getattr(d.security, name) is not None,  # type: ignore[misc]
            "is refused with security.customer_keys: true, which makes both keys",
            "remove one of the two",
        )
        for name in ("kms_key_arn", "log_kms_key_arn")
    ),
    Requirement(
        "jobs.invocation_timeout_in_seconds",
        lambda d: d.hosting.answers_at_once and "invocation_timeout_in_seconds" in d.jobs.model_fields_set,
        "{value} is refused with hosting.mode: realtime, where SageMaker ends each call after "
        f"{REALTIME_TIMEOUT_IN_SECONDS} s",
        "remove it, or use mode: async",
    ),
    Requirement(
        "jobs.max_concurrency",
        lambda d: d.hosting.queues_in_sagemaker and d.jobs.max_concurrency is not None,
        "{value} is refused with hosting.mode: async, where SageMaker itself sends the requests",
        "use hosting.scaling.concurrent_requests_per_instance",
    ),
    Requirement(
        "jobs.on_destroy",
        lambda d: d.jobs.deletion_protection and d.jobs.on_destroy == "delete",
        "{value} is refused with jobs.deletion_protection: true",
        "use retain, or deletion_protection: false",
    ),
    Requirement(
        "api.quota",
        lambda d: d.api.quota is not None and d.api.auth != "api-key",
        "needs api.auth: api-key, not {deployment.api.auth}: API Gateway counts quotas per API key",
        "remove it, or change api.auth",
    ),
    Requirement(
        "api.access_logs",
        lambda d: d.logs.requests == "none" and d.api.access_logs and "access_logs" in d.api.model_fields_set,
        "true is refused with logs.requests: none, which writes no line for a request",
        "remove it, or use logs.requests: metadata",
    ),
    Requirement(
        "hosting.data_capture",
        lambda d: d.hosting.data_capture is not None and not d.hosting.answers_at_once,
        "is refused with hosting.mode: {deployment.hosting.mode}: SageMaker captures invocations of real-time "
        "endpoints, and the job bucket holds the prompts and answers of jobs",
        "remove it, or use mode: realtime",
    ),
    Requirement(
        "hosting.data_capture",
        lambda d: d.hosting.data_capture is not None and d.hosting.answers_at_once and d.uses_components,
        "is refused with {deployment.why_components}, which makes the model an inference component: SageMaker's guide "
        "knows capture only for a model of the endpoint's own configuration",
        "remove one of the two",
    ),
    Requirement(
        "api.keys",
        lambda d: bool(d.api.keys) and d.api.auth != "api-key",
        "needs api.auth: api-key, not {deployment.api.auth}, which asks nobody for a key",
        "remove it, or change api.auth",
    ),
    *(
        Requirement(
            f"api.allow.{name}",
            lambda d, name=name: d.api.allow is not None and getattr(d.api.allow, name) and d.api.auth != "iam",  # type: ignore[misc]
            "{value} needs api.auth: iam, not {deployment.api.auth}, which learns no caller's account",
            "remove it, or use api.auth: iam",
        )
        for name in ("accounts", "organization")
    ),
    Requirement(
        "api.domain",
        lambda d: d.api.domain is not None and d.api.private is not None,
        "is refused with api.private: its record would have to name the VPC endpoint's own DNS name, which a template "
        "can't look up",
        "remove it; callers use ApiUrl, or the name of the API by private DNS",
    ),
    Requirement(
        "api.waf",
        lambda d: d.api.waf and d.api.waf_acl_arn is not None,
        "true is refused with api.waf_acl_arn, because a stage takes one web ACL",
        "remove one of the two",
    ),
    Requirement(
        "api.auth",
        lambda d: d.api.auth == "jwt" and d.api.jwt is None,
        "'jwt' needs api.jwt, which says whose tokens are accepted",
        "set api.jwt.issuer and api.jwt.audience, or api.jwt.user_pool: true",
    ),
    Requirement(
        "api.jwt",
        lambda d: d.api.jwt is not None and d.api.auth != "jwt",
        "needs api.auth: jwt, not {deployment.api.auth}, which reads no tokens",
        "remove it, or use auth: jwt",
    ),
    Requirement(
        "api.jwt.issuer",
        lambda d: d.api.jwt is not None and d.api.jwt.issuer is None and not d.api.jwt.user_pool,
        "is missing, so no token would be accepted",
        "set it, or user_pool: true",
    ),
    Requirement(
        "api.jwt.issuer",
        lambda d: d.api.jwt is not None and d.api.jwt.issuer is not None and d.api.jwt.user_pool,
        "is refused with user_pool: true, where the pool is the issuer",
        "remove one of the two",
    ),
    Requirement(
        "api.jwt.audience",
        lambda d: d.api.jwt is not None and d.api.jwt.issuer is not None and not d.api.jwt.audience,
        "is empty, so the issuer's tokens for other services would be accepted",
        "name the audience of this API's tokens",
    ),
    Requirement(
        "api.jwt.groups_claim",
        lambda d: d.api.jwt is not None and d.api.jwt.groups_claim is not None and not d.api.jwt.groups,
        "does nothing without api.jwt.groups",
        "remove it, or name groups",
    ),
    Requirement(
        "api.playground",
        lambda d: d.api.playground and d.api.auth == "jwt",
        "true is refused with api.auth: jwt, for whose tokens the page has no field",
        "use `slipway playground <name>`, which needs no setting and sends the token in SLIPWAY_TOKEN",
    ),
    Requirement(
        "hosting.instance_count.min",
        lambda d: d.hosting.answers_at_once and d.hosting.instance_count.min == 0 and d.hosting.idle != "zero",
        "0 is refused with hosting.mode: realtime, because nothing would wake the endpoint",
        "use 1 or more, or mode: async, which wakes for a job, or hosting.idle: zero",
    ),
    Requirement(
        "hosting.instance_count.max",
        lambda d: d.hosting.instance_count.max < d.hosting.instance_count.min,
        "{value} is less than min ({deployment.hosting.instance_count.min})",
        "use {deployment.hosting.instance_count.min} or more",
    ),
    Requirement(
        "hosting.instance_type",
        lambda d: len(set(d.hosting.instance_types)) < len(d.hosting.instance_types),
        "{value} names a type twice, and SageMaker refuses two pools of one type",
        "remove one",
    ),
    Requirement(
        "hosting.scaling.concurrent_requests_per_instance",
        lambda d: (
            d.hosting.queues_in_sagemaker and d.hosting.scaling.concurrent_requests_per_instance > _MOST_ASYNC_REQUESTS
        ),
        "{value} is refused with hosting.mode: async",
        f"use at most {_MOST_ASYNC_REQUESTS}",
    ),
    Requirement(
        "hosting.scaling.concurrent_requests_per_instance",
        lambda d: routes_by_prefix(d) and d.hosting.scaling.concurrent_requests_per_instance > _MOST_REQUESTS_BY_PREFIX,
        "{value} is refused with hosting.routing: prefix-aware",
        f"use at most {_MOST_REQUESTS_BY_PREFIX}",
    ),
    Requirement(
        "hosting.routing",
        lambda d: d.hosting.queues_in_sagemaker and routes_by_prefix(d),
        "{value} is for real-time endpoints",
        "remove it, or use hosting.mode: realtime",
    ),
    Requirement(
        "hosting.reserved_capacity_arn",
        lambda d: d.hosting.reserved_capacity_arn is not None and len(d.hosting.instance_types) > 1,
        "reserves instances of one type, and hosting.instance_type has several",
        "name the type of the reserved capacity",
    ),
    Requirement(
        "model.weights_kms_key_arn",
        lambda d: d.model.weights_kms_key_arn is not None and d.model.weights is None,
        "has nothing to decrypt, because model.weights is not set",
        "set model.weights, or remove the key",
    ),
    Requirement(
        "serving.image_uri",
        lambda d: d.serving.engine == "custom" and d.serving.image_uri is None,
        "is required with serving.engine: custom",
        "name the image in Amazon ECR",
    ),
    Requirement(
        "serving.handler",
        lambda d: d.serving.handler is not None and engine(d.serving.engine).server != "djl",
        "{value} does not run on this serving.engine, because only DJL Serving takes a model.py",
        "use an engine lmi-..., or remove it",
    ),
    Requirement(
        "serving.max_batch_size",
        lambda d: d.serving.handler is not None and (d.serving.max_batch_size or 1) > 1,
        "{value} is refused with serving.handler: DJL Serving hands a batch to a handler as one call, and the "
        "handlers in model_src/ do not take it apart",
        "remove it",
    ),
    Requirement(
        "model.pooling",
        lambda d: d.model.pooling is not None and d.model.task != "embed",
        "{value} is refused with model.task: {deployment.model.task}, which makes no vectors",
        "remove it, or use model.task: embed",
    ),
    Requirement(
        "serving.max_new_tokens",
        lambda d: d.serving.max_new_tokens is not None and d.model.task != "generate",
        _NO_TEXT,
        "remove it",
    ),
    Requirement(
        "model.adapters",
        lambda d: bool(d.model.adapters) and d.model.task != "generate",
        "are refused with model.task: {deployment.model.task}",
        "remove them, or merge one into the model's weights",
    ),
    Requirement(
        "jobs.limits.answer_tokens_per_day",
        lambda d: d.jobs.limits.answer_tokens_per_day is not None and d.model.task != "generate",
        _NO_TEXT,
        "remove it",
    ),
    *(
        Requirement(
            f"{section}.{name}",
            lambda d, section=section, name=name: d.hosting.runs_on_machines and getattr(getattr(d, section), name),  # type: ignore[misc]
            f"is refused with hosting.mode: ec2: {reason}",
            "remove it",
        )
        for section, name, reason in _NOT_ON_MACHINES
    ),
    Requirement(
        "hosting.instance_type",
        lambda d: d.hosting.runs_on_machines and len(d.hosting.instance_types) > 1,
        "{value} are several types, but all machines of hosting.mode: ec2 start from one launch template",
        "name one",
    ),
    Requirement(
        "hosting.instance_count.min",
        lambda d: d.hosting.runs_on_machines and d.hosting.instance_count.is_scaled,
        "{value} must equal max ({deployment.hosting.instance_count.max}): hosting.mode: ec2 has a fixed number of "
        "machines, which stop when idle",
        "use {deployment.hosting.instance_count.max} for both",
    ),
    Requirement(
        "hosting.instance_count.max",
        lambda d: d.hosting.runs_on_machines and d.hosting.instance_count.max > _MOST_MACHINES,
        "{value} machines do not fit into one stack",
        f"use {_MOST_MACHINES} or fewer",
    ),
    Requirement(
        "hosting.volume_size_in_gb",
        lambda d: d.hosting.runs_on_machines and 0 < (d.hosting.volume_size_in_gb or 0) < _SMALLEST_VOLUME_IN_GB,
        f"{{value}} is refused by EC2: the snapshot of Amazon Linux needs {_SMALLEST_VOLUME_IN_GB} GB",
        "remove it: the default leaves room for system and weights",
    ),
)


@error
def settings_agree(resolution: Resolution) -> Iterator[Finding]:
    """A setting that needs another setting must have it; a machine of EC2 can't fulfil some settings of containers."""
    yield from broken(_NEEDED, resolution.deployment)


def broken(table: tuple[Requirement, ...], deployment: Deployment) -> Iterator[Finding]:
    for requirement in table:
        if requirement.is_broken(deployment):
            values = {"value": _value(deployment, requirement.field), "deployment": deployment}
            yield Finding(requirement.field, requirement.problem.format(**values), requirement.fix.format(**values))


def _value(deployment: Deployment, field: str) -> str:
    found: object = deployment
    for part in field.split("."):
        found = getattr(found, part)
    return repr(found)
