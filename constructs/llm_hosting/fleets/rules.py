"""The rules of fleets, judged before a deploy: what CloudFormation would refuse later, or do without a word."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from ..catalog.instances import types_for
from ..deployment.file import DeploymentError
from ..deployment.finding import LEVELS, Finding
from ..deployment.nearest import nearest
from ..preflight.rules.rule import Rules
from .fleet import FleetGroup
from .offers import is_missing, known_regions, partition
from .parameter_values import broken_rules, problems_of
from .stack_sets import ENDPOINT_SWITCH, RenderedFleet

RULES = Rules[RenderedFleet]()
_REGION_OF_ARN = 3
_MOST_TOLERATED = 50  # percent of a region's accounts


def judged(path: Path, rendered: RenderedFleet) -> list[Finding]:
    """Return every finding, worst first. Raises DeploymentError with all errors."""
    findings = [each for rule in RULES for each in rule.findings(rendered)]
    errors = [f"{each.field}: {each.message}" for each in findings if each.level == "error"]
    if errors:
        raise DeploymentError(path, errors)
    return sorted(findings, key=lambda each: LEVELS.index(each.level))


@RULES.error
def permission_model_decides_the_targets(rendered: RenderedFleet) -> Iterator[Finding]:
    """A service-managed stack set is deployed to organizational units, a self-managed one to accounts."""
    is_service_managed = rendered.fleet.permission_model == "service-managed"
    for field, group in rendered.places:
        if is_service_managed and not group.organizational_units:
            fix = "name units; for single accounts also set `account_filter: intersection`"
            yield Finding(
                f"{field}.organizational_units", "is empty, but a service-managed set is deployed to units", fix
            )
        if not is_service_managed and (group.organizational_units or not group.accounts):
            problem = "a self-managed set is deployed to accounts, not to units"
            yield Finding(f"{field}.accounts", problem, "name accounts, and no organizational_units")


@RULES.error
def permission_model_decides_the_settings(rendered: RenderedFleet) -> Iterator[Finding]:
    """Only a self-managed stack set takes roles, and only a service-managed one automatic deployment."""
    fleet = rendered.fleet
    if fleet.permission_model == "self-managed" and fleet.auto_deployment.enabled:
        yield Finding("auto_deployment.enabled", "needs `permission_model: service-managed`", "remove it")
    for field in ("administration_role_arn", "execution_role_name"):
        if fleet.permission_model == "service-managed" and getattr(fleet, field):
            yield Finding(
                field,
                "is for self-managed sets; StackSets itself makes the roles of a service-managed one",
                "remove it",
            )


@RULES.error
def account_filters_have_accounts(rendered: RenderedFleet) -> Iterator[Finding]:
    """Accounts beside units need a filter, and a filter needs accounts."""
    for field, group in rendered.places:
        if group.account_filter != "none" and not (group.accounts and group.organizational_units):
            problem = f"{group.account_filter!r} needs both units and accounts"
            yield Finding(f"{field}.account_filter", problem, "name both, or remove it")
        elif group.account_filter == "none" and group.accounts and group.organizational_units:
            problem = "stand beside units, but nothing says whether they are selected or left out"
            yield Finding(f"{field}.accounts", problem, "set account_filter to intersection or difference")


@RULES.error
def parameters_fit_the_template(rendered: RenderedFleet) -> Iterator[Finding]:
    """A parameter that the template lacks, or a value that it refuses, fails in every account."""
    declared = rendered.template.content.get("Parameters", {})
    given = [("parameters", rendered.fleet.parameters)]
    given += [(f"{field}.parameters", group.parameters) for field, group in rendered.places]
    for field, values in given:
        for name, value in values.items():
            for problem, fix in problems_of(name, value, declared):
                yield Finding(f"{field}.{name}", problem, fix)


@RULES.error
def archives_lie_in_buckets_of_the_regions(rendered: RenderedFleet) -> Iterator[Finding]:
    """Archives that no template can hold, such as that of an own handler, must lie in a bucket of each region."""
    if not rendered.template.archives:
        return
    archives = ", ".join(rendered.template.archives)
    for field, group in rendered.places:
        if not rendered.values(group).get("ArchiveBucketPrefix"):
            problem = f"this deployment starts from {archives}, which no template can hold"
            fix = (
                f"put the archives from `slipway render {rendered.fleet.deployment}` into a bucket "
                "`<prefix>-<region>` in each region that the accounts may read, and set ArchiveBucketPrefix"
            )
            yield Finding(f"{field}.parameters", problem, fix)


@RULES.error
def alarm_topic_is_of_the_region(rendered: RenderedFleet) -> Iterator[Finding]:
    """CloudWatch alarms notify topics of their own region only."""
    for field, group in rendered.places:
        for parameter in ("AlarmTopicArn", "PagingTopicArn"):
            topic = rendered.values(group).get(parameter, "").split(":")
            here = topic[_REGION_OF_ARN] if len(topic) > _REGION_OF_ARN else None
            if others := [region for region in group.regions if here and region != here]:
                problem = f"is in {here}, but alarms in {', '.join(others)} can't reach it"
                fix = "make a group for each region, with a topic in that region"
                yield Finding(f"{field}.parameters.{parameter}", problem, fix)


@RULES.error
def boundary_is_in_each_account(rendered: RenderedFleet) -> Iterator[Finding]:
    """A permissions boundary is a policy of the role's own account, or of AWS."""
    arn = rendered.resolution.deployment.security.permissions_boundary_arn or ""
    account = (arn.split(":") + [""] * 5)[4]
    others = [field for field, group in rendered.places if group.organizational_units or group.accounts != [account]]
    if account.isdigit() and others:
        yield Finding(
            others[0],
            f"its accounts do not have the policy of account {account} that security.permissions_boundary_arn names",
            "make a policy of that name in each account, and write ${AWS::AccountId} for the account",
        )


@RULES.error
def rules_of_the_template_hold(rendered: RenderedFleet) -> Iterator[Finding]:
    """A region without the container image, or values that exclude each other, fail in every account."""
    for field, group in rendered.places:
        for region in group.regions:
            for broken in broken_rules(rendered.template.content, rendered.values(group), region):
                problem = f"in {region} the template refuses its parameters: {broken}"
                is_known = region in known_regions()
                fix = (
                    ""
                    if is_known
                    else f"correct {region}, which may be misspelt: use {nearest(region, known_regions())}"
                )
                yield Finding(f"{field}.regions", problem, fix)


@RULES.error
def targets_are_named_once(rendered: RenderedFleet) -> Iterator[Finding]:
    """Two stack sets, or two groups, that reach one account in one region deploy two services there, or fail."""
    for field, group in rendered.places:
        for name in ("organizational_units", "accounts", "regions"):
            listed = getattr(group, name)
            if doubled := sorted({each for each in listed if listed.count(each) > 1}):
                yield Finding(f"{field}.{name}", f"{', '.join(doubled)} stands twice", "name it once")
    for (first, one), (second, other) in combinations(rendered.places, 2):
        regions = sorted(set(one.regions) & set(other.regions))
        if regions and (shared := _shared(one, other, is_canary=first == "canary")):
            problem = f"{', '.join(shared)} in {', '.join(regions)} is also in {first}"
            fix = "name it once; for a canary inside a unit name its accounts, with `account_filter: intersection`"
            yield Finding(second, problem, fix)


def _shared(one: FleetGroup, other: FleetGroup, *, is_canary: bool) -> list[str]:
    """Return the units or accounts that are surely in both groups, without looking up the accounts of units.

    The canary's own are left out of the other group anyway.
    """
    filters = {one.account_filter, other.account_filter}
    listed = filters == {"intersection"} or not (one.organizational_units or other.organizational_units)
    if is_canary and (listed or one.account_filter == "intersection"):
        return []
    if listed:
        return sorted(set(one.accounts) & set(other.accounts))
    if "intersection" in filters:
        return []
    roots = {each for each in (*one.organizational_units, *other.organizational_units) if each.startswith("r-")}
    units = set(one.organizational_units) & set(other.organizational_units)
    return sorted(units if "difference" in filters else roots or units)


@RULES.error
def canary_is_named_by_units_or_accounts(rendered: RenderedFleet) -> Iterator[Finding]:
    """If the canary is "all but these" accounts, StackSets can't be told which accounts remain for the targets."""
    canary = rendered.fleet.canary
    if canary and canary.account_filter == "difference":
        fix = "give it units of its own, or its accounts with `account_filter: intersection`"
        yield Finding(
            "canary.account_filter", "'difference' is refused: such accounts can't be left out of the targets", fix
        )


@RULES.error
def unit_has_one_set_of_parameters(rendered: RenderedFleet) -> Iterator[Finding]:
    """If a stack set has an account filter anywhere, a unit with its own parameters may stand in one group only.

    CloudFormation compares the units over all groups and regions (handler of AWS::CloudFormation::StackSet). A canary
    of single accounts that lacks some regions of a target splits the target's group in two.
    """
    for stack_set in rendered.stack_sets:
        groups = stack_set.groups
        if all(each.account_filter == "none" for each in groups):
            continue
        for one, other in combinations(groups, 2):
            units = sorted(set(one.organizational_units) & set(other.organizational_units))
            if units and (one.parameters or other.parameters):
                problem = f"{', '.join(units)} stands in two groups of {stack_set.name}, one with parameters of its own"
                fix = "give the canary all regions of its target or units of its own, or remove the parameters"
                yield Finding("targets", problem, fix)
                break


@RULES.error
def canary_leaves_targets(rendered: RenderedFleet) -> Iterator[Finding]:
    """A canary that contains every target protects nothing."""
    if not rendered.stack_sets[-1].groups:
        yield Finding("canary", "contains all targets", "name fewer accounts, units or regions")


@RULES.error
def regions_are_of_one_partition(rendered: RenderedFleet) -> Iterator[Finding]:
    """An organization or a role belongs to one partition of AWS and does not reach into another."""
    regions = sorted({region for _, group in rendered.places for region in group.regions})
    found = {partition(region): region for region in regions}
    if len(found) > 1:
        named = " and ".join(f"{region} ({name})" for name, region in sorted(found.items()))
        yield Finding("targets", f"{named} are in different partitions of AWS", "make a fleet for each partition")


@RULES.error
def region_order_has_every_region(rendered: RenderedFleet) -> Iterator[Finding]:
    """An order of regions must name each region of the fleet once."""
    order = rendered.fleet.rollout.region_order
    regions = {region for _, group in rendered.places for region in group.regions}
    wrong = sorted(regions ^ set(order)) or sorted({each for each in order if order.count(each) > 1})
    if order and wrong:
        fix = f"name each of {', '.join(sorted(regions))} once"
        yield Finding(
            "rollout.region_order", f"{', '.join(wrong)} is missing, doubled or not a region of the fleet", fix
        )


@RULES.error
def failure_tolerance_stops_something(rendered: RenderedFleet) -> Iterator[Finding]:
    """A tolerance as large as the fleet, or above half of it, lets a bad update through."""
    tolerance = rendered.fleet.rollout.failure_tolerance
    groups = rendered.stack_sets[-1].groups
    listed = all(group.accounts and group.account_filter != "difference" for group in groups)
    most = len({account for group in groups for account in group.accounts}) if listed and groups else None
    if (isinstance(tolerance, str) and int(tolerance[:-1]) > _MOST_TOLERATED) or (
        most and isinstance(tolerance, int) and tolerance >= most
    ):
        fix = f"use at most {_MOST_TOLERATED}%, or a small number" if most is None else f"use at most {most - 1}"
        yield Finding("rollout.failure_tolerance", f"{tolerance} stops an operation too late, or never", fix)


@RULES.error
def account_filters_exclude_automatic_deployment(rendered: RenderedFleet) -> Iterator[Finding]:
    """Automatic deployment ignores account filters."""
    if rendered.fleet.auto_deployment.enabled:
        for number, group in enumerate(rendered.fleet.targets):
            if group.account_filter == "intersection":
                problem = (
                    "'intersection' is ignored by automatic deployment: every account that joins a unit gets a stack"
                )
                fix = "remove the filter, or set auto_deployment.enabled to false"
                yield Finding(f"targets.{number}.account_filter", problem, fix)


@RULES.error
def region_has_the_instance_type(rendered: RenderedFleet) -> Iterator[Finding]:
    """An endpoint fails in a region without its instance type."""
    yield from _missing_types(rendered, endpoint=True)


@RULES.warning
def region_may_get_no_endpoint(rendered: RenderedFleet) -> Iterator[Finding]:
    """With the endpoint off, a stack can be made in a region without the instance type, but never get its endpoint."""
    yield from _missing_types(rendered, endpoint=False)


def _missing_types(rendered: RenderedFleet, *, endpoint: bool) -> Iterator[Finding]:
    hosting = rendered.resolution.deployment.hosting
    for field, group in rendered.places:
        chosen = rendered.values(group).get("InstanceType")
        types = [chosen] if chosen else hosting.instance_types
        for region in group.regions if rendered.runs_endpoint(group) == endpoint else []:
            if all(is_missing(each, region, on_machines=hosting.runs_on_machines) for each in types):
                problem = f"{region} has no {' or '.join(types)}"
                fix = "give the group another InstanceType, or leave the region out"
                yield Finding(f"{field}.regions", problem, fix)


@RULES.warning
def settings_have_an_effect(rendered: RenderedFleet) -> Iterator[Finding]:
    """A setting that nothing reads promises an effect that it does not have."""
    fleet = rendered.fleet
    if fleet.auto_deployment.retain_on_removal and not fleet.auto_deployment.enabled:
        problem = "has no effect: without automatic deployment nothing happens when an account leaves"
        yield Finding("auto_deployment.retain_on_removal", problem, "remove it, or set auto_deployment.enabled")
    for field in ("call_as", "management_account"):
        if fleet.permission_model == "self-managed" and field in fleet.model_fields_set:
            yield Finding(field, "has no effect on a self-managed fleet", "remove it")


@RULES.warning
def canary_protects_updates_only(rendered: RenderedFleet) -> Iterator[Finding]:
    """Automatic deployment ignores order, tolerance and canary."""
    if rendered.fleet.auto_deployment.enabled and rendered.fleet.canary:
        problem = "protects updates only: an account that joins a unit gets the service at once"
        yield Finding("canary", problem)


@RULES.warning
def overrides_do_not_reach_accounts_that_join(rendered: RenderedFleet) -> Iterator[Finding]:
    """An account that joins gets the fleet's parameters, not those of its group."""
    for number, group in enumerate(rendered.fleet.targets if rendered.fleet.auto_deployment.enabled else []):
        if group.parameters:
            problem = (
                "reach accounts that are in the units at a deploy; one that joins later gets the fleet's parameters"
            )
            yield Finding(
                f"targets.{number}.parameters", problem, "set them for the whole fleet if new accounts need them"
            )


@RULES.warning
def account_settings_precede_automatic_deployment(rendered: RenderedFleet) -> Iterator[Finding]:
    """To order stack sets of a delegated administrator, StackSets needs the management account's id."""
    fleet = rendered.fleet
    is_delegated = fleet.auto_deployment.enabled and fleet.call_as == "delegated-admin"
    if is_delegated and rendered.needs_settings and not fleet.management_account:
        problem = "is not set: an account that joins may get the service before the account settings, which then fails"
        yield Finding("management_account", problem, "set it to the management account's id")


@RULES.warning
def management_account_gets_nothing(rendered: RenderedFleet) -> Iterator[Finding]:
    """Service-managed stack sets leave the organization's management account out."""
    fleet = rendered.fleet
    if fleet.permission_model == "self-managed":
        return
    for field, group in rendered.places:
        has_root = any(each.startswith("r-") for each in group.organizational_units)
        is_named = group.account_filter == "intersection" and fleet.management_account in group.accounts
        if has_root or is_named:
            fix = "deploy it there with `cdk deploy -c deployment=...` if you want it there"
            yield Finding(field, "does not reach the management account, which StackSets leaves out", fix)


@RULES.warning
def concurrency_is_reached(rendered: RenderedFleet) -> Iterator[Finding]:
    """With `concurrency: strict`, at most one account more than may fail is updated at once."""
    rollout = rendered.fleet.rollout
    most, tolerance = rollout.max_concurrent, rollout.failure_tolerance
    none_may_fail = tolerance in (0, "0%")
    too_many = isinstance(most, int) and isinstance(tolerance, int) and most > tolerance + 1
    if rollout.concurrency == "strict" and (too_many or (none_may_fail and isinstance(most, str))):
        reached = 1 if none_may_fail else int(tolerance) + 1
        problem = f"{most} is never reached: `concurrency: strict` updates {reached} at a time if {tolerance} may fail"
        yield Finding("rollout.max_concurrent", problem, f"use {reached}, raise failure_tolerance, or use `soft`")


@RULES.note
def endpoint_is_off(rendered: RenderedFleet) -> Iterator[Finding]:
    """Without its endpoint a stack pays for no instance, and its API answers 503 `endpoint_not_deployed`."""
    hosting = rendered.resolution.deployment.hosting
    instance = types_for(on_machines=hosting.runs_on_machines)[hosting.instance_types[0]]
    saved = instance.price(max(hosting.instance_count.min, 1), hosting.instance_count.max)
    for field, group in rendered.places:
        if rendered.values(group).get(ENDPOINT_SWITCH) == "false":
            problem = "DeployEndpoint is off: the API answers 503 endpoint_not_deployed until it is on"
            saves = f", which saves {saved} in each account and region" if saved else ""
            yield Finding(f"{field}.parameters", problem + saves)
