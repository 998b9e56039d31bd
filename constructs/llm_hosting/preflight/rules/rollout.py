"""Rules over `hosting.rollout`: the number of instances and the time that a guarded update needs."""

import math
from collections.abc import Iterator

from ...deployment.finding import Finding
from ...deployment.settings.hosting import LONGEST_UPDATE_IN_SECONDS, Hosting
from ...resolution import Resolution
from ...resolution.estimates import start_in_seconds
from .rule import error


@error
def rollout_fits_counts(resolution: Resolution) -> Iterator[Finding]:
    """A canary is at most half of the instances, a batch 5 to 50 % of them, or of the copies of a component.

    An update keeps the number that runs, so each number from `instance_count.min` to `max` must allow it.
    """
    deployment, hosting = resolution.deployment, resolution.deployment.hosting
    least, most = max(hosting.instance_count.min, 1), hosting.instance_count.max  # no update starts zero instances
    if hosting.runs_on_machines or least > most or hosting.sleeps:
        return
    noun, each = "instance", 1
    if deployment.uses_components and resolution.placements:
        noun, each = "copy", 1 if hosting.endpoint else max(1, resolution.component_copy.per_instance)
        least, most = resolution.least_copies, resolution.most_copies
    if hosting.canary and not deployment.uses_components and not hosting.can_roll_out(least):
        yield Finding(
            "hosting.rollout.canary",
            "needs two instances at every time, because SageMaker gives it at most half of them; "
            f"hosting.instance_count.min is {hosting.instance_count.min}",
            "use min: 2 or more, or rollout: all-at-once",
        )
    wrong = [count for count in (least, most) if not hosting.can_roll_out(count)] if hosting.rolling else []
    if hosting.rolling and wrong:
        batch = hosting.rolling.batch
        yield Finding(
            "hosting.rollout.rolling.batch",
            f"{batch} is {100 * batch / wrong[0]:.3g} % of the {_counted(wrong[0], noun)} that may run at an update; "
            "SageMaker takes 5 to 50 %",
            _other_batch("copies" if hosting.endpoint else "instance_count", least, most, each),
        )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {'copies' if noun == 'copy' else 'instances'}"


def _other_batch(counts: str, least: int, most: int, of_instance: int) -> str:
    """Return the batches to choose from.

    counts: the setting with the numbers. of_instance: copies on an instance; 1 if `counts` itself is of what an update
    replaces.
    """
    smallest, largest = math.ceil(most / 20), least // 2
    if smallest > largest:
        needed = f"hosting.{counts}.min {math.ceil(2 * smallest / of_instance)} or more with batch {smallest}"
        return f"use {needed}, or rollout: all-at-once"
    return f"use {smallest}" if smallest == largest else f"use {smallest} to {largest}"


@error
def components_roll_only(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker updates an inference component all at once, or in batches of a model that always runs."""
    deployment, hosting = resolution.deployment, resolution.deployment.hosting
    if hosting.canary and deployment.uses_components:
        yield Finding(
            "hosting.rollout.canary",
            "is not for inference components, whose updates SageMaker makes all at once or in batches",
            "use rollout: {rolling: {batch: ...}}, or all-at-once",
        )
    if hosting.rolling and hosting.sleeps:
        yield Finding(
            "hosting.rollout.rolling",
            f"needs two copies at every time, and with hosting.idle: {_idle(hosting)} there may be one or none",
            "use all-at-once, or idle: always-on",
        )


def _idle(hosting: Hosting) -> str:
    return "{...}" if hosting.awake_hours else str(hosting.idle)


@error
def canary_can_fail(resolution: Resolution) -> Iterator[Finding]:
    """An update's failures are counted among all requests, so a canary that only fails must exceed the error rate."""
    deployment = resolution.deployment
    canary, rate = deployment.hosting.canary, deployment.alarms.error_rate
    if canary is None or deployment.uses_components:
        return
    if max(canary.share / 100, 1 / deployment.hosting.instance_count.max) <= rate:  # one instance is the smallest
        yield Finding(
            "hosting.rollout.canary.share",
            f"{canary.share} % of the requests would all fail without an alarm, because alarms.error_rate is "
            f"{rate:.0%} of all requests",
            f"use {math.floor(rate * 100) + 1} or more, or a smaller alarms.error_rate"
            if rate < 0.5
            else "use an alarms.error_rate below 0.5",
        )


@error
def rollout_ends_in_time(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker ends an update after eight hours, and batches start one after the other."""
    hosting = resolution.deployment.hosting
    if hosting.rolling is None or hosting.runs_on_machines:
        return
    for placement in resolution.placements:
        each = (start_in_seconds(placement).least or 0) + hosting.update_wait_in_seconds
        if resolution.most_batches * each > LONGEST_UPDATE_IN_SECONDS:
            yield Finding(
                "hosting.rollout.rolling.batch",
                f"{hosting.rolling.batch} makes {resolution.most_batches} batches of at least {each:.0f} s to start "
                f"and to watch, more than the {LONGEST_UPDATE_IN_SECONDS:,} s after which SageMaker ends an update",
                "use a larger batch, or a shorter hosting.update_wait_in_seconds",
            )
            return


@error
def rollout_is_guarded(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker updates Inf1 instances all at once and without alarms (its guide, "Exclusions")."""
    hosting = resolution.deployment.hosting
    for name in hosting.instance_types:
        if hosting.updates_by_parts and name.startswith("ml.inf1."):
            yield Finding(
                "hosting.rollout",
                f"has no effect on {name}, which SageMaker updates all at once and without alarms",
                "use all-at-once, or another instance type",
            )
