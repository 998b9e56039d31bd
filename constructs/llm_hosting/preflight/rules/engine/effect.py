"""A rule over settings and variables that nothing reads."""

import difflib
from collections.abc import Iterator

from ....deployment.finding import Finding
from ....deployment.model import Deployment
from ....resolution import Resolution
from ....resolution.variables import VARIABLE_ALIASES, is_read
from ..environment import engine_settings, published
from ..requirements import Requirement, broken, routes_by_prefix
from ..rule import laws_of, warning
from .options import LMI, Option, unread_options

_ALARM_REACTION_IN_SECONDS = 240  # two datapoints of a minute each, and the delay of metrics
_TGI = ("tgi",)
_HAS_NO_EFFECT = (
    Option(LMI, "OPTION_QUANTIZATION", None, "0.33", None, "use OPTION_QUANTIZE, LMI's own name for it"),
    Option(_TGI, "LORA_ADAPTERS", None, "2.1", None, "use 2.2.0 or newer"),
    Option(_TGI, "MESSAGES_API_ENABLED", None, "1.4", "2.4", "remove it: from 2.4 on TGI knows chats by their shape"),
)
# Variables that containers read and that stand for no setting.
_OTHERS_READ = {
    "HF_MODEL_TRUST_REMOTE_CODE",
    "HF_TASK",
    "MAX_BATCH_PREFILL_TOKENS",
    "MAX_BATCH_TOTAL_TOKENS",
    "MAX_INPUT_LENGTH",
    "MAX_INPUT_TOKENS",
    "OPTION_ENTRYPOINT",
    "OPTION_GPU_MEMORY_UTILIZATION",
    "OPTION_ROLLING_BATCH",
    "OPTION_TRUST_REMOTE_CODE",
}
# These look like misspelt names of those, but are right.
_NOT_MISSPELT = {"SM_NUM_CPUS", "SM_SGLANG_DP_SIZE", "SM_SGLANG_EP_SIZE", "SM_SGLANG_PP_SIZE"}
_CLOSE = 0.9  # least similarity by difflib; 1 = equal
# Settings of endpoints that a machine ignores.
_IGNORED = {
    "serving": ("tensor_parallel_degree", "max_batch_delay_in_ms"),
    "hosting": (
        "scaling",
        "download_timeout_in_seconds",
        "provision_timeout_in_seconds",
        "routing",
        "routing_prefix_in_bytes",
        "detailed_observability",
        "update_wait_in_seconds",
        "rollout",
        "reserved_capacity_arn",
    ),
    "jobs": ("max_concurrency",),
    "alarms": ("failure_rate", "latency_in_seconds", "idle_in_hours"),
}
_USELESS = (
    *(
        Requirement(
            f"hosting.{name}",
            lambda d, name=name: not d.hosting.runs_on_machines and name in d.hosting.model_fields_set,  # type: ignore[misc]
            "has no effect with hosting.mode: {deployment.hosting.mode}",
            "remove it, or use mode: ec2",
        )
        for name in ("idle_minutes", "renewal")
    ),
    Requirement(
        "hosting.wakes_per_day",
        lambda d: not d.hosting.sleeps and "wakes_per_day" in d.hosting.model_fields_set,
        "has no effect with hosting.idle: always-on",
        "remove it, or use hosting.idle: zero",
    ),
    Requirement(
        "hosting.routing",
        lambda d: routes_by_prefix(d) and d.hosting.instance_count.max == 1 and not d.hosting.runs_on_machines,
        "{value} has no effect with one instance",
        "make hosting.instance_count.max larger, or remove it",
    ),
    Requirement(
        "hosting.routing_prefix_in_bytes",
        lambda d: (
            not d.hosting.runs_on_machines
            and not routes_by_prefix(d)
            and "routing_prefix_in_bytes" in d.hosting.model_fields_set
        ),
        "has no effect with hosting.routing: {deployment.hosting.routing}",
        "use hosting.routing: prefix-aware, or remove it",
    ),
    *(
        Requirement(
            f"hosting.{name}",
            lambda d, name=name: getattr(d.hosting, name) and not d.uses_components,  # type: ignore[misc]
            "{value} has no effect on a model that is not an inference component",
            "remove it",
        )
        for name in ("cache_weights", "spread_over_zones")
    ),
    Requirement(
        "hosting.spread_over_zones",
        lambda d: d.hosting.spread_over_zones and d.uses_components and d.instance_count.max == 1,
        "{value} has no effect with one instance",
        "make the endpoint's instance_count.max larger, or remove it",
    ),
    Requirement(
        "model.revision",
        lambda d: d.model.revision is not None and d.model.weights is not None,
        "{value} has no effect, because the weights come from model.weights",
        "remove it",
    ),
    Requirement(
        "hosting.scaling.backlog_per_instance",
        lambda d: (
            d.hosting.answers_at_once
            and (d.hosting.instance_count.is_scaled or d.hosting.sleeps)
            and _is_set(d, "backlog_per_instance")
        ),
        "has no effect with hosting.mode: realtime",
        "use concurrent_requests_per_instance",
    ),
    Requirement(
        "hosting.update_wait_in_seconds",
        lambda d: (
            not d.hosting.runs_on_machines
            and (d.hosting.rolling is not None or not d.uses_components)
            and d.hosting.update_wait_in_seconds < _ALARM_REACTION_IN_SECONDS
        ),
        "{value} is too short for the alarms, so a bad update is not rolled back",
        f"use {_ALARM_REACTION_IN_SECONDS} or more",
    ),
    Requirement(
        "hosting.update_wait_in_seconds",
        lambda d: (
            d.uses_components and d.hosting.rolling is None and "update_wait_in_seconds" in d.hosting.model_fields_set
        ),
        "{value} has no effect: no alarm watches an inference component that is updated all at once",
        "remove it, or use hosting.rollout: {{rolling: {{batch: ...}}}}, which needs idle: always-on",
    ),
    Requirement(
        "alarms.latency_in_seconds",
        lambda d: d.hosting.queues_in_sagemaker and "latency_in_seconds" in d.alarms.model_fields_set,
        "has no effect with hosting.mode: async, where jobs.invocation_timeout_in_seconds ends slow calls",
        "remove it",
    ),
)


@warning
def settings_are_read(resolution: Resolution) -> Iterator[Finding]:
    """A setting or variable has no effect if nothing reads it.

    Another setting, the mode, the engine or its version makes it useless, or its name is misspelt.
    """
    yield from laws_of(
        resolution,
        settings_have_an_effect,
        variable_is_misspelt,
        variable_is_read,
        settings_reach_engine,
        option_is_read,
        machine_reads_setting,
    )


def settings_have_an_effect(resolution: Resolution) -> Iterator[Finding]:
    """A setting must not be useless because of another one."""
    deployment = resolution.deployment
    yield from broken(_USELESS, deployment)
    if not deployment.jobs.enabled:
        for name in sorted(deployment.jobs.model_fields_set - {"enabled"}):
            yield Finding(f"jobs.{name}", "has no effect with jobs.enabled: false", "remove it")
    hosting = deployment.hosting
    if not (deployment.is_scaled or hosting.runs_on_machines):
        # With a fixed count the concurrency of an instance still bounds jobs, and the requests of one prefix.
        is_bound = deployment.jobs.enabled or routes_by_prefix(deployment)
        used = {"concurrent_requests_per_instance"} if is_bound else set()
        for name in sorted(hosting.scaling.model_fields_set - used):
            field, count = (
                ("copies", hosting.copies) if hosting.endpoint else ("instance_count", hosting.instance_count)
            )
            yield Finding(
                f"hosting.scaling.{name}",
                f"has no effect with a fixed count of {count.min}",
                f"make hosting.{field}.max larger",
            )


def variable_is_misspelt(resolution: Resolution) -> Iterator[Finding]:
    """A variable that nothing reads has no effect, and no container complains."""
    known = {name for names in VARIABLE_ALIASES.values() for name in names} | _OTHERS_READ
    for name in sorted(resolution.deployment.serving.environment.keys() - known - _NOT_MISSPELT):
        if near := difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE):
            yield Finding(f"serving.environment.{name}", f"looks like a misspelt {near[0]}", "rename it")


def variable_is_read(resolution: Resolution) -> Iterator[Finding]:
    """Variables of another container have no effect."""
    container, given = resolution.container, resolution.deployment.serving.environment
    unread = [name for name in given if not is_read(name, container.server)]
    if unread:
        problem = f"has variables without effect on {container.engine}: {', '.join(unread)}"
        yield Finding("serving.environment", problem, "remove these variables")


def settings_reach_engine(resolution: Resolution) -> Iterator[Finding]:
    """A setting for which the container has no variable has no effect; only the checks use it."""
    version = published(resolution)
    for field, value in engine_settings(resolution).items() if version else ():
        is_default = field == "serving.tensor_parallel_degree" and value == 1
        if version and field.partition(".")[2] not in version.variables and not is_default:
            problem = f"{value!r} does not reach {version.engine} {version.label}, which has no such setting"
            yield Finding(field, problem, "remove it")


def option_is_read(resolution: Resolution) -> Iterator[Finding]:
    """A version of an engine ignores some options that it does not know yet, or no longer."""
    yield from unread_options(resolution.container, _HAS_NO_EFFECT)


def machine_reads_setting(resolution: Resolution) -> Iterator[Finding]:
    """A machine ignores some settings of endpoints."""
    if resolution.deployment.hosting.runs_on_machines:
        for name in _ignored(resolution.deployment):
            yield Finding(name, "has no effect with hosting.mode: ec2", "remove it")


def _ignored(deployment: Deployment) -> Iterator[str]:
    for section, names in _IGNORED.items():
        given = getattr(deployment, section).model_fields_set
        yield from (f"{section}.{name}" for name in names if name in given)


def _is_set(deployment: Deployment, name: str) -> bool:
    return name in deployment.hosting.scaling.model_fields_set
