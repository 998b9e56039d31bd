"""A plan for people, and for programs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from llm_hosting.fleets.stack_sets import StackSet
from slipway.changes.report import as_json, page
from slipway.fleet.billing import total
from slipway.fleet.columns import columns
from slipway.fleet.plan import Plan
from slipway.fleet.targets import Target

_HEADING = ("STACK SET", "ACCOUNT", "REGION", "ACTION", "MEANS", "USD/H")
# Of a stack that no update reaches; True = the fleet names its account.
_FATES = {
    ("remove", False): "the stack is deleted",
    ("left alone", True): "joined its unit later: automatic deployment or a changed group reaches it",
    ("left alone", False): "has left its unit, and keeps the stack",
}


def lines(plan: Plan) -> Iterator[str]:
    """Order, targets, cost, what updates mean, quotas."""
    rendered = plan.rendered
    yield f"{rendered.name}: {rendered.deployment}, template {rendered.stack_sets[-1].version}"
    yield from columns([(f"{n}.", each.name, _order(each)) for n, each in enumerate(rendered.stack_sets, 1)])
    yield from ("", *columns([_HEADING, *(_row(each, plan) for each in plan.targets.all)]), "")
    counted = Counter(each.action for each in plan.targets.all)
    yield "stacks: " + ", ".join(f"{number} {action}" for action, number in counted.items())
    yield f"endpoints: {total(map(plan.bill, plan.targets.all)).text} USD an hour, by the catalog"
    yield from _remarks(plan)
    for (name, size), places in plan.quotas.items():
        yield f"quota: {size} of {name!r} in each of {', '.join(f'{account} {region}' for account, region in places)}"
    for number, report in enumerate(plan.reports, 1):
        yield from ("", f"[{number}] {page(report)}")


def _order(stack_set: StackSet) -> str:
    """How an operation goes through the set."""
    rollout = stack_set.rollout
    regions = ", then ".join(stack_set.region_order) or "regions in any order"
    if rollout.regions == "parallel":
        regions = "all regions at once"
    tolerated = "none may fail" if rollout.failure_tolerance in (0, "0%") else f"{rollout.failure_tolerance} may fail"
    automatic = "; accounts that join get it at once" if stack_set.auto_deployment else ""
    return f"{regions}; {rollout.max_concurrent} at a time ({rollout.concurrency}), {tolerated}{automatic}"


def _row(target: Target, plan: Plan) -> tuple[str, ...]:
    number = plan.report_number(target)
    if means := _FATES.get((target.action, bool(target.group))):
        return target.stack_set.name, str(target.account), target.region, target.action, means, ""
    means = f"[{number}] {_meaning(target)}" if number else "values or order alone" if target.action == "update" else ""
    name = target.stack_set.name
    account = target.account or f"others of {', '.join(target.group.organizational_units if target.group else [])}"
    return name, account, target.region, target.action, means, plan.bill(target).text if target.values else ""


def _meaning(target: Target) -> str:
    """Kinds of changes, worst first, without those that mean nothing."""
    told = Counter(each.kind for each in target.changes if each.kind != "nothing")
    return ", ".join(f"{number} {kind}" for kind, number in told.items()) or "in place"


def _remarks(plan: Plan) -> Iterator[str]:
    yield from (f"{each.level}: {each.field}: {each.message}" for each in plan.findings)
    if plan.organization.problem:
        yield f"unknown: the accounts of units: {plan.organization.problem}"
    yield from (f"left out: {account}: {why}" for account, why in sorted(plan.organization.left_out.items()))
    for account, region in plan.targets.moved:
        where = f"{account} in {region} goes to another stack set"
        yield f"warning: {where}: a new stack, at a new URL, and the old one is deleted"
    for account, region in plan.targets.reached_twice:
        yield f"error: {account} in {region} is reached by two groups, one unit inside another; leave it out of one"


def content(plan: Plan) -> dict[str, Any]:
    """As `--json` prints it. account: null = others of the units, which are not known. usd_per_hour: null = not known.

    report: number of the update's meaning in `reports`, from 1 on; null = no resource changes.
    """
    cost = total(map(plan.bill, plan.targets.all))
    return {
        "fleet": plan.rendered.name,
        "deployment": plan.rendered.deployment,
        "stops": plan.stops,
        "stack_sets": [_set_content(each) for each in plan.rendered.stack_sets],
        "targets": [_target_content(each, plan) for each in plan.targets.all],
        "usd_per_hour": asdict(cost),
        "findings": [asdict(each) | {"message": each.message} for each in plan.findings],
        "organization": {
            "left_out": plan.organization.left_out,
            "problem": plan.organization.problem,
        },
        "moved": [{"account": account, "region": region} for account, region in plan.targets.moved],
        "reached_twice": [{"account": account, "region": region} for account, region in plan.targets.reached_twice],
        "quotas": [
            {"name": name, "size": size, "places": [{"account": a, "region": r} for a, r in places]}
            for (name, size), places in plan.quotas.items()
        ],
        "reports": [as_json(each) for each in plan.reports],
    }


def _set_content(stack_set: StackSet) -> dict[str, Any]:
    return {
        "name": stack_set.name,
        "role": stack_set.role,
        "version": stack_set.version,
        "auto_deployment": stack_set.auto_deployment,
        "rollout": stack_set.rollout.model_dump() | {"region_order": stack_set.region_order},
    }


def _target_content(target: Target, plan: Plan) -> dict[str, Any]:
    return {
        "stack_set": target.stack_set.name,
        "account": target.account,
        "region": target.region,
        "action": target.action,
        "report": plan.report_number(target),
        "usd_per_hour": asdict(plan.bill(target)),
    }
