"""Rules over the API and its jobs: callers, deadlines, ARNs."""

import time
from collections.abc import Iterator

from ...deployment.finding import Finding
from ...deployment.model import limits_of_keys
from ...resolution import Resolution
from .rule import error, note, warning

# An attempt starts only if the invocation timeout and five minutes are left. SageMaker and the queue need at least a
# minute to hand it over.
_MARGIN_IN_SECONDS = 300 + 60
_LONGEST_IN_ASYNC_QUEUE = 21_600  # SageMaker drops a request that has waited for six hours
# Lambda takes 4,096 bytes of names and values; API_KEYS is the authorizer's only variable.
_MOST_BYTES_OF_KEYS = 4000


@warning
def shared_secret(resolution: Resolution) -> Iterator[Finding]:
    """One API key for all callers identifies nobody."""
    if resolution.deployment.api.auth == "api-key" and not resolution.deployment.api.keys:
        yield Finding(
            "api.auth",
            "'api-key' is a shared secret: whoever holds it can call",
            "prefer iam for callers with AWS credentials; for others define keys in api.keys, each with its own limits",
        )


@warning
def open_to_the_internet(resolution: Resolution) -> Iterator[Finding]:
    """Without authorization anybody can spend the GPU."""
    if resolution.deployment.api.auth == "none":
        yield Finding(
            "api.auth",
            "'none' opens the API to everybody on the internet; only the throttle limits what they spend",
            "prefer iam",
        )


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
def key_knows_a_model(resolution: Resolution) -> Iterator[Finding]:
    """A key for models that the deployment does not have is refused on every call."""
    known = {resolution.deployment.model.id, *resolution.container.model_names}
    for name, key in resolution.deployment.api.keys.items():
        unknown = [model for model in key.models or () if model not in known]
        if unknown:
            yield Finding(
                f"api.keys.{name}.models",
                f"{', '.join(unknown)} is not a model of this deployment",
                f"use {resolution.deployment.model.id}, or remove the setting",
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


@warning
def token_limits_have_an_effect(resolution: Resolution) -> Iterator[Finding]:
    """A key that may use fewer tokens in a month than in a minute reaches the month's limit first."""
    for name, key in resolution.deployment.api.keys.items():
        minute, month = key.tokens_per_minute, key.tokens_per_month
        if minute is not None and month is not None and minute > month:
            yield Finding(
                f"api.keys.{name}.tokens_per_minute",
                f"{minute} has no effect, because tokens_per_month ({month}) is less",
                "use less, or remove it",
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
def arns_are_in_region(resolution: Resolution) -> Iterator[Finding]:
    """Alarms notify only topics of their own region, and SageMaker uses only KMS keys of its own region."""
    region = resolution.deployment.region
    for field, own in _regions_of_arns(resolution):
        if region and own != region:
            yield Finding(field, f"is in {own}, but the deployment is in {region}", f"use one in {region}")


@warning
def arns_pin_the_region(resolution: Resolution) -> Iterator[Finding]:
    """A template for every region that names an ARN works only in the region of the ARN."""
    for field, own in _regions_of_arns(resolution):
        if resolution.deployment.region is None:
            yield Finding(field, f"exists in {own} only, so the deployment works there only", f"set region: {own}")


@error
def deadline_leaves_time(resolution: Resolution) -> Iterator[Finding]:
    """A deadline must leave time for one attempt; otherwise every job expires."""
    jobs, timeout = resolution.deployment.jobs, resolution.deployment.invocation_timeout_in_seconds
    least = timeout + _MARGIN_IN_SECONDS
    if jobs.enabled and jobs.deadline_in_seconds < least:
        yield Finding(
            "jobs.deadline_in_seconds",
            f"{jobs.deadline_in_seconds} leaves no time for an attempt of {timeout} s",
            f"use {least} or more, or a shorter jobs.invocation_timeout_in_seconds",
        )


@error
def deadline_fits_queue(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker drops a request that has waited for six hours; the next attempt then waits behind all others."""
    deployment = resolution.deployment
    jobs = deployment.jobs
    most = _LONGEST_IN_ASYNC_QUEUE + deployment.invocation_timeout_in_seconds + _MARGIN_IN_SECONDS
    if jobs.enabled and deployment.hosting.queues_in_sagemaker and jobs.deadline_in_seconds > most:
        yield Finding(
            "jobs.deadline_in_seconds",
            f"{jobs.deadline_in_seconds} is longer than the 6 h that SageMaker keeps a request, plus one attempt",
            f"use {most} or less, or hosting.mode: realtime",
        )


@warning
def deadline_outlasts_start(resolution: Resolution) -> Iterator[Finding]:
    """At zero instances the first job waits until an instance has started."""
    jobs, hosting = resolution.deployment.jobs, resolution.deployment.hosting
    start = hosting.download_timeout_in_seconds + hosting.startup_timeout_in_seconds
    enough = start + resolution.deployment.invocation_timeout_in_seconds + _MARGIN_IN_SECONDS
    if jobs.enabled and hosting.instance_count.min == 0 and jobs.deadline_in_seconds < enough:
        yield Finding(
            "jobs.deadline_in_seconds",
            f"{jobs.deadline_in_seconds} may pass while the first instance starts, which may take {start} s",
            f"use {enough} or more, or shorter timeouts",
        )


@note
def jobs_alone_scale_out(resolution: Resolution) -> Iterator[Finding]:
    """Jobs add an instance to a scaled real-time endpoint only if enough of them run at once."""
    deployment = resolution.deployment
    jobs, hosting = deployment.jobs, deployment.hosting
    if not (jobs.enabled and hosting.answers_at_once and hosting.instance_count.is_scaled):
        return
    places = hosting.instance_count.min * hosting.scaling.concurrent_requests_per_instance
    if jobs.max_concurrency is None and deployment.most_workers <= places:
        yield Finding(
            "jobs.max_concurrency",
            f"null means {deployment.most_workers} jobs at once, but an instance is added only above {places} requests "
            "in flight: jobs alone add none",
            f"set {min(deployment.model_places, 1000)} once Lambda's quota of concurrent executions allows it",
        )


def _regions_of_arns(resolution: Resolution) -> Iterator[tuple[str, str]]:
    deployment = resolution.deployment
    arns = {
        "alarms.topic_arn": deployment.alarms.topic_arn,
        "model.weights_kms_key_arn": deployment.model.weights_kms_key_arn,
        "hosting.volume_kms_key_arn": deployment.hosting.volume_kms_key_arn,
    }
    for field, arn in arns.items():
        if arn:
            yield field, arn.split(":")[3]
