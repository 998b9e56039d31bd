"""Rules over `hosting.idle`, and over deployments whose model is an inference component of its endpoint."""

import zoneinfo
from collections.abc import Iterator

from ...catalog.regions import regions_without_components
from ...deployment.finding import Finding
from ...deployment.nearest import nearest
from ...resolution import Resolution
from .requirements import Requirement, broken
from .rule import error

_NO_PLACES = {"Factory", "localtime"}

_NEEDED = (
    Requirement(
        "hosting.idle",
        lambda d: d.hosting.sleeps and not d.hosting.answers_at_once,
        "is refused with hosting.mode: {deployment.hosting.mode}, which sleeps by its own settings",
        "remove it, or use mode: realtime",
    ),
    Requirement(
        "hosting.idle",
        lambda d: d.hosting.sleeps and d.hosting.answers_at_once and not d.jobs.enabled,
        "needs jobs.enabled: true, because the job table remembers who woke the model",
        "enable jobs, which needs api.auth: iam or api-key, or use always-on",
    ),
    Requirement(
        "hosting.instance_count.min",
        lambda d: d.hosting.idle == "zero" and d.hosting.answers_at_once and d.hosting.instance_count.min > 1,
        "{value} has no effect with hosting.idle: zero, which has no instances that always run",
        "remove it, or set the hours in which they run below hosting.idle",
    ),
    Requirement(
        "hosting.instance_type",
        lambda d: d.uses_components and len(d.hosting.instance_types) > 1,
        "{value} are several types, but {deployment.why_components} makes an inference component, sized for one type",
        "name one, or do without {deployment.why_components}",
    ),
)


@error
def components_get_what_they_need(resolution: Resolution) -> Iterator[Finding]:
    """A model that sleeps is an inference component: real-time, on one instance type, and beside a job table."""
    yield from broken(_NEEDED, resolution.deployment)


@error
def region_has_components(resolution: Resolution) -> Iterator[Finding]:
    """CloudFormation makes inference components in some regions only, by cfn-lint's schemas of the regions."""
    deployment, why = resolution.deployment, resolution.deployment.why_components
    if why and deployment.region in regions_without_components():
        yield Finding(
            "region",
            f"{deployment.region!r} has no inference components in CloudFormation, which {why} needs",
            f"use another region, or do without {why}",
        )


@error
def hours_are_clear(resolution: Resolution) -> Iterator[Finding]:
    """The hours of `hosting.idle` end at another time than they start, and follow a time zone that exists."""
    hours = resolution.deployment.hosting.awake_hours
    if hours is None:
        return
    if hours.start == hours.end:
        problem = f"{hours.end!r} is also hosting.idle.start, so it is not clear whether the model ever sleeps"
        yield Finding("hosting.idle.end", problem, "use another time, or hosting.idle: always-on")
    if repeated := sorted({day for day in hours.days if hours.days.count(day) > 1}):
        yield Finding("hosting.idle.days", f"{repeated[0]!r} stands there more than once", "name each day once")
    zones = zoneinfo.available_timezones() - _NO_PLACES  # empty on a system without such data
    if zones and hours.time_zone not in zones:
        near = nearest(hours.time_zone, sorted(zones))
        yield Finding("hosting.idle.time_zone", f"{hours.time_zone!r} is not the name of a time zone", f"use {near}")
