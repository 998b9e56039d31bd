"""Rules over the API and its jobs: callers, deadlines, ARNs."""

import re
import time
from collections.abc import Iterator

from ...deployment.finding import Finding
from ...deployment.model import Deployment
from ...deployment.settings.api import limits_of_keys
from ...resolution import Resolution
from .rule import error, note, warning

# An attempt starts only if the invocation timeout and five minutes are left. SageMaker and the queue need at least a
# minute to hand it over.
_MARGIN_IN_SECONDS = 300 + 60
_LONGEST_IN_ASYNC_QUEUE = 21_600  # SageMaker drops a request that has waited for six hours
# Lambda takes 4,096 bytes of names and values; API_KEYS is the authorizer's only variable.
_MOST_BYTES_OF_KEYS = 4000
_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_ORIGIN = re.compile(rf"(https://(?:{_LABEL}\.)*{_LABEL}|http://(?:(?:{_LABEL}\.)*localhost|127\.0\.0\.1))(?::(\d+))?")
_USUAL_PORTS = {"https": 443, "http": 80}


@warning
def open_to_the_internet(resolution: Resolution) -> Iterator[Finding]:
    """Without authorization anybody can spend the GPU."""
    api = resolution.deployment.api
    if api.auth == "none":
        where = "who reaches its VPC endpoints" if api.private else "on the internet"
        where = "at the addresses of api.allow.cidrs" if api.cidrs else where
        yield Finding(
            "api.auth",
            f"'none' opens the API to everybody {where}; only the throttle limits what they spend",
            "prefer iam",
        )


@warning
def tracing_is_an_operation(resolution: Resolution) -> Iterator[Finding]:
    """`operations.tracing` traces requests; its old name will go with a release that breaks promises."""
    if resolution.deployment.api.tracing:
        yield Finding("api.tracing", "is the old name of operations.tracing", "write operations.tracing: true")


@warning
def openai_without_chat(resolution: Resolution) -> Iterator[Finding]:
    """OpenAI clients mostly send messages, and Slipway does not guess how a model wants messages to be written."""
    if resolution.openai_routes == ("completions",):
        yield Finding(
            "api.openai",
            "true gives no chat here, because the engine takes no messages: POST /chat/completions answers 400",
            "call POST /completions, or use an engine that takes messages",
        )


@error
def reserved_concurrency_fits_functions(resolution: Resolution) -> Iterator[Finding]:
    """What is reserved for a function is also its limit, so it must be enough for the calls that Slipway itself makes.

    A queue hands more messages to a function than it may run, and those it loses count as attempts.
    """
    deployment = resolution.deployment
    tasks = 1 + bool(resolution.openai_routes) + deployment.hosting.runs_on_machines
    least = {
        "every_minute": (tasks, "tasks that begin at once each minute"),
        "poll_job": (deployment.jobs.max_waiting + 1, "callers that may be held (jobs.max_waiting), and one more"),
        "record_result": (deployment.most_workers, "batches of results that its queue hands over at once"),
        "run_job": (deployment.most_workers, "jobs that its queue hands over at once (jobs.max_concurrency)"),
    }
    for name, calls in deployment.api.reserved_concurrency.items():
        field = f"api.reserved_concurrency.{name}"
        if name not in deployment.function_names:
            names = ", ".join(sorted(deployment.function_names))
            yield Finding(field, "is no function of this deployment", f"use one of {names}")
        elif name in least and calls < least[name][0]:
            count, what = least[name]
            yield Finding(field, f"{calls} is less than the {count} {what}", f"use {count} or more")


@error
def key_knows_a_model(resolution: Resolution) -> Iterator[Finding]:
    """A key for models that the deployment does not have is refused on every call."""
    model = resolution.deployment.model
    known = {model.id, *resolution.container.model_names, *model.adapters}
    for name, key in resolution.deployment.api.keys.items():
        unknown = [each for each in key.models or () if each not in known]
        if unknown:
            yield Finding(
                f"api.keys.{name}.models",
                f"{', '.join(unknown)} is not a model of this deployment",
                f"use {' or '.join([model.id, *model.adapters])}, or remove the setting",
            )


@warning
def key_has_not_expired(resolution: Resolution) -> Iterator[Finding]:
    """An expired key is refused."""
    for name, key in resolution.deployment.api.keys.items():
        if key.expires_at is not None and key.expires_at <= time.time():
            yield Finding(
                f"api.keys.{name}.expires",
                f"{key.expires} has passed: callers get 401",
                "use a later day, or remove it",
            )


@error
def keys_fit_the_authorizer(resolution: Resolution) -> Iterator[Finding]:
    """The authorizer holds the names and limits of all keys in its environment, which Lambda limits to 4 kB."""
    keys = resolution.deployment.api.keys
    size = len(limits_of_keys(keys))
    if size > _MOST_BYTES_OF_KEYS:
        yield Finding(
            "api.keys",
            f"{len(keys)} keys with their limits take {size} bytes of the authorizer's environment, which has room for "
            f"{_MOST_BYTES_OF_KEYS}",
            "remove keys or limits, shorten names, or share a key in a team",
        )


@warning
def playground_needs_a_key(resolution: Resolution) -> Iterator[Finding]:
    """A browser has no AWS credentials to sign requests with, and must not get any."""
    api = resolution.deployment.api
    if api.playground and api.auth == "iam":
        yield Finding(
            "api.playground",
            "true with api.auth: iam serves a page that can't call the model",
            "use `slipway playground <name>`, which needs no setting and signs its calls, or auth: api-key",
        )


@error
def origins_are_exact(resolution: Resolution) -> Iterator[Finding]:
    """A browser names an origin by scheme, host and port. Any other text, such as a path, never equals it.

    Over plain HTTP a key could be read on the way, unless the page is on the caller's own machine.
    """
    origins = resolution.deployment.api.cors.origins if resolution.deployment.api.cors else []
    fix = "use https://<host>, http://localhost:<port>, or https://<host>:<port>, in lower case and each once"
    for number, origin in enumerate(origins):
        if origin in origins[:number]:
            yield Finding("api.cors.origins", f"{origin!r} stands twice", "remove one")
        elif problem := _problem_of(origin):
            yield Finding("api.cors.origins", f"{origin!r} {problem}", fix)


def _problem_of(origin: str) -> str | None:
    """Return why no browser sends this origin, or why it must not be allowed; None if it may stand."""
    if "*" in origin:
        return "has a wildcard; each origin must be named"
    if origin != origin.lower():
        return "has capitals, which browsers never send"
    if re.fullmatch(r"https?://[^/]+/.*", origin):
        return "has a path or a slash at its end, which is no part of an origin"
    if not (match := _ORIGIN.fullmatch(origin)):
        return "is no origin that can be allowed"
    port = match[2]
    if port is None:
        return None
    if str(int(port)) != port or not 1 <= int(port) <= 65_535:
        return f"has the port {port}, which is not one from 1 to 65535"
    is_usual = int(port) == _USUAL_PORTS[origin.partition(":")[0]]
    return "names the scheme's own port, which browsers leave out" if is_usual else None


@note
def first_origin_reads_refusals(resolution: Resolution) -> Iterator[Finding]:
    """API Gateway's own answers have fixed headers, which can name one origin only."""
    cors = resolution.deployment.api.cors
    if cors and len(cors.origins) > 1:
        yield Finding(
            "api.cors.origins",
            f"only pages of {cors.origins[0]} can read API Gateway's own refusals, such as a 401 or a 429; for pages "
            "of the others they look like a failed connection",
            "put the origin with the most users first",
        )


@error
def arns_are_in_region(resolution: Resolution) -> Iterator[Finding]:
    """Topics, keys, reserved capacity, certificate and web ACL are used only in their own region."""
    arns = regions_of_arns(resolution.deployment)
    region = resolution.deployment.region or next(iter(arns.values()), None)
    for field, own in arns.items():
        if own != region:
            place = "the deployment" if resolution.deployment.region else "another ARN"
            yield Finding(field, f"is in {own}, but {place} is in {region}", f"use one in {region}")


@error
def deadline_is_possible(resolution: Resolution) -> Iterator[Finding]:
    """A deadline must leave time for one attempt; otherwise every job expires.

    SageMaker drops a request that has waited for six hours; the next attempt then waits behind all others.
    """
    deployment, field = resolution.deployment, "jobs.deadline_in_seconds"
    jobs, timeout = deployment.jobs, deployment.invocation_timeout_in_seconds
    least = timeout + _MARGIN_IN_SECONDS
    most = _LONGEST_IN_ASYNC_QUEUE + least
    if jobs.enabled and jobs.deadline_in_seconds < least:
        yield Finding(
            field,
            f"{jobs.deadline_in_seconds} leaves no time for an attempt of {timeout} s",
            f"use {least} or more, or a shorter jobs.invocation_timeout_in_seconds",
        )
    if jobs.enabled and deployment.hosting.queues_in_sagemaker and jobs.deadline_in_seconds > most:
        yield Finding(
            field,
            f"{jobs.deadline_in_seconds} is longer than the 6 h that SageMaker keeps a request, plus one attempt",
            f"use {most} or less, or hosting.mode: realtime",
        )


@warning
def deadline_outlasts_start(resolution: Resolution) -> Iterator[Finding]:
    """At zero instances the first job waits until an instance has started."""
    jobs, hosting = resolution.deployment.jobs, resolution.deployment.hosting
    start = hosting.download_timeout_in_seconds + hosting.startup_timeout_in_seconds
    enough = start + resolution.deployment.invocation_timeout_in_seconds + _MARGIN_IN_SECONDS
    starts_for_a_job = hosting.instance_count.min == 0 or hosting.sleeps
    if jobs.enabled and starts_for_a_job and jobs.deadline_in_seconds < enough:
        yield Finding(
            "jobs.deadline_in_seconds",
            f"{jobs.deadline_in_seconds} may pass while the first instance starts, which may take {start} s",
            f"use {enough} or more, or shorter timeouts",
        )


def regions_of_arns(deployment: Deployment) -> dict[str, str]:
    """Return the region of each ARN of the deployment, by field."""
    arns = {
        "alarms.topic_arn": deployment.alarms.topic_arn,
        "alarms.paging_topic_arn": deployment.alarms.paging_topic_arn,
        "model.weights_kms_key_arn": deployment.model.weights_kms_key_arn,
        "hosting.volume_kms_key_arn": deployment.hosting.volume_kms_key_arn,
        "security.kms_key_arn": deployment.security.kms_key_arn,
        "security.log_kms_key_arn": deployment.security.log_kms_key_arn,
        "hosting.reserved_capacity_arn": deployment.hosting.reserved_capacity_arn,
        "api.domain.certificate_arn": deployment.api.domain and deployment.api.domain.certificate_arn,
        "api.waf_acl_arn": deployment.api.waf_acl_arn,
    }
    return {field: arn.split(":")[3] for field, arn in arns.items() if arn}
