"""Shows a plan, as text or as JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from llm_hosting.fleets.stack_sets import RenderedStackSet
from slipway.changes.report import as_json, page
from slipway.fleet.billing import Bill, total
from slipway.fleet.deployed_set import Place, call_as
from slipway.fleet.plan import FleetPlan
from slipway.fleet.targets import Target
from slipway.shared.table import table_lines

_HEADING = ("STACK SET", "ACCOUNTS", "REGIONS", "ACTION", "MEANS", "USD/H")
_SHOWN = 3  # accounts of one line; `--json` has them all
# What becomes of a stack that no update reaches; True = the fleet names its account.
_FATES = {
    ("remove", False): "the stack is deleted",
    ("failed", True): "no deploy updates it: nothing changed",
    ("left alone", True): "joined its unit later: automatic deployment or a changed group reaches it",
    ("left alone", False): "has left its unit, and keeps the stack",
}


def lines(plan: FleetPlan) -> Iterator[str]:
    """The page: order, targets, cost, meaning of the updates, quotas."""
    rendered = plan.rendered
    yield f"{rendered.name}: {rendered.deployment}, template {rendered.stack_sets[-1].version}"
    yield from table_lines((), [(f"{n}.", each.name, _order(each)) for n, each in enumerate(rendered.stack_sets, 1)])
    yield from ("", *table_lines(_HEADING, list(_rows(plan))), "")
    counted = Counter(each.action for each in plan.targets.all)
    yield "stacks: " + ", ".join(f"{number} {action}" for action, number in counted.items())
    yield f"endpoints: {total(map(plan.bill, plan.targets.all)).text} USD an hour, by the catalog"
    if any(not is_on for _, _, is_on in plan.quotas):
        yield f"endpoints: {_with_endpoints(plan).text} USD an hour if DeployEndpoint were true everywhere"
    yield from _remarks(plan)
    for (name, size, is_on), places in plan.quotas.items():
        when = "" if is_on else "if DeployEndpoint were true: "
        yield f"quota: {when}{size} of {name!r} in each of {_listed(places)}"
    for number, report in enumerate(plan.reports, 1):
        yield from ("", f"[{number}] {page(report)}")


def _order(stack_set: RenderedStackSet) -> str:
    """Tell how an operation goes through a set's regions and accounts."""
    rollout = stack_set.rollout
    regions = ", then ".join(stack_set.region_order) or "regions in any order"
    if rollout.regions == "parallel":
        regions = "all regions at once"
    tolerated = "none may fail" if rollout.failure_tolerance in (0, "0%") else f"{rollout.failure_tolerance} may fail"
    automatic = "; accounts that join get it at once" if stack_set.auto_deployment else ""
    return f"{regions}; {rollout.max_concurrent} at a time ({rollout.concurrency}), {tolerated}{automatic}"


def _with_endpoints(plan: FleetPlan) -> Bill:
    return total(plan.bill(each, endpoints_on=True) for each in plan.targets.all)


def _rows(plan: FleetPlan) -> Iterator[tuple[str, ...]]:
    """Yield one row for all accounts and regions with the same action, meaning and price."""
    accounts: dict[tuple[str, ...], list[str]] = {}
    for each in plan.targets.all:
        name, account, region, *fate = _row(each, plan)
        accounts.setdefault((name, region, *fate), []).append(account)
    regions: dict[tuple[str, ...], list[str]] = {}
    for (name, region, *fate), shared in accounts.items():
        regions.setdefault((name, _some(shared), *fate), []).append(region)
    for (name, some, *fate), in_regions in regions.items():
        yield (name, some, ", ".join(in_regions), *fate)


def _some(accounts: Sequence[str]) -> str:
    shown = ", ".join(accounts[:_SHOWN])
    return shown if len(accounts) <= _SHOWN else f"{shown} and {len(accounts) - _SHOWN} more"


def _listed(places: Sequence[Place]) -> str:
    """Return the accounts and regions in short: `111122223333 and 2 more (us-east-1)`."""
    by_region: dict[str, list[str]] = {}
    for account, region in places:
        by_region.setdefault(region, []).append(account)
    return ", ".join(f"{_some(accounts)} ({region})" for region, accounts in by_region.items())


def _row(target: Target, plan: FleetPlan) -> tuple[str, ...]:
    number = plan.report_number(target)
    if means := _FATES.get((target.action, bool(target.group))):
        return target.stack_set, str(target.account), target.region, target.action, means, ""
    means = f"[{number}] {_meaning(target)}" if number else "values or order alone" if target.action == "update" else ""
    account = target.account or f"others of {', '.join(target.group.organizational_units if target.group else [])}"
    cost = plan.bill(target).text if target.values else ""
    return target.stack_set, account, target.region, target.action, means, cost


def _meaning(target: Target) -> str:
    """The kinds of changes, worst first. Kinds without a meaning are left out."""
    told = Counter(each.kind for each in target.changes if each.kind != "nothing")
    return ", ".join(f"{number} {kind}" for kind, number in told.items()) or "in place"


def _remarks(plan: FleetPlan) -> Iterator[str]:
    yield from (f"{each.level}: {each.field}: {each.message}" for each in plan.findings)
    if plan.organization.problem:
        yield f"unknown: the accounts of units: {plan.organization.problem}"
    yield from (f"left out: {account}: {why}" for account, why in sorted(plan.organization.left_out.items()))
    for account, region in plan.targets.moved:
        where = f"{account} in {region} goes to another stack set"
        yield f"warning: {where}: a new stack, at a new URL, and the old one is deleted"
    for name, places in plan.removed.items():
        lost = f"{name} loses {_listed(places)}: URL, jobs and results are gone"
        accepting = f"accepted-changes/{plan.rendered.fleet.deployment}.yaml"
        entry = f"`resource: {name}`, `kind: removed` and a reason"
        yield f"error: {lost}; keep them, or acknowledge the loss by an entry with {entry} in {accepting}"
    for name in plan.remade:
        problem = "is deployed with another permission model, which no update can change"
        yield f"error: {name} {problem}: keep that model, or give the fleet another name"
    yield from _repairs(plan)
    for account, region in plan.targets.reached_twice:
        yield f"error: two groups reach {account} in {region}, one unit inside another; leave it out of one group"


def _repairs(plan: FleetPlan) -> Iterator[str]:
    """Commands that repair the stacks that an earlier operation left behind."""
    caller = call_as(plan.rendered.fleet)
    for each in plan.targets.all:
        if each.action == "failed":
            where = f"--accounts {each.account} --regions {each.region}"
            command = f"aws cloudformation update-stack-instances --stack-set-name {each.stack_set}"
            if each.group and each.group.organizational_units:
                units = ",".join(each.group.organizational_units)
                chosen = f"OrganizationalUnitIds={units},Accounts={each.account},AccountFilterType=INTERSECTION"
                where = f"--deployment-targets {chosen} --regions {each.region}"
            yield f"failed: {each.account} in {each.region}: mend the cause, then {command} {where} --call-as {caller}"


def content(plan: FleetPlan) -> dict[str, Any]:
    """The object that `--json` prints.

    account: null = further accounts of the units, which are not known. usd_per_hour: null = not known.
    usd_per_hour_with_endpoints: as if DeployEndpoint were true everywhere. is_on: whether the endpoint of a quota
    runs already. removed: services that are lost without an acknowledgement. permission_model_differs: stack sets
    with another permission model. report: the number of the update's meaning in `reports`, counted from 1; null = no
    resource changes.
    """
    cost = total(map(plan.bill, plan.targets.all))
    return {
        "fleet": plan.rendered.name,
        "deployment": plan.rendered.deployment,
        "stops": plan.stops,
        "stack_sets": [_set_content(each) for each in plan.rendered.stack_sets],
        "targets": [_target_content(each, plan) for each in plan.targets.all],
        "usd_per_hour": asdict(cost),
        "usd_per_hour_with_endpoints": asdict(_with_endpoints(plan)),
        "findings": [asdict(each) | {"message": each.message} for each in plan.findings],
        "organization": {
            "left_out": plan.organization.left_out,
            "problem": plan.organization.problem,
        },
        "removed": {
            name: [{"account": account, "region": region} for account, region in places]
            for name, places in plan.removed.items()
        },
        "permission_model_differs": plan.remade,
        "moved": [{"account": account, "region": region} for account, region in plan.targets.moved],
        "reached_twice": [{"account": account, "region": region} for account, region in plan.targets.reached_twice],
        "quotas": [
            {"name": name, "size": size, "is_on": is_on, "places": [{"account": a, "region": r} for a, r in places]}
            for (name, size, is_on), places in plan.quotas.items()
        ],
        "reports": [as_json(each) for each in plan.reports],
    }


def _set_content(stack_set: RenderedStackSet) -> dict[str, Any]:
    return {
        "name": stack_set.name,
        "role": stack_set.role,
        "version": stack_set.version,
        "auto_deployment": stack_set.auto_deployment,
        "rollout": stack_set.rollout.model_dump() | {"region_order": stack_set.region_order},
    }


def _target_content(target: Target, plan: FleetPlan) -> dict[str, Any]:
    return {
        "stack_set": target.stack_set,
        "account": target.account,
        "region": target.region,
        "action": target.action,
        "report": plan.report_number(target),
        "usd_per_hour": asdict(plan.bill(target)),
    }
