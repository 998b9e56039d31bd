"""The keys of the objects that `--json` prints, as their builders name them."""

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from inspect import getsource
from textwrap import dedent
from typing import Any, get_args, get_type_hints

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight import report as preflight_report
from slipway.changes import report as change_report
from slipway.changes.change import Change
from slipway.changes.gate import Acknowledgement
from slipway.checking import check, recommend
from slipway.cost import callers
from slipway.fleet import cost as fleet_cost
from slipway.fleet import plan_page
from slipway.fleet import status as fleet_status
from slipway.fleet.billing import Bill
from slipway.hosting import machines
from slipway.hosting.check import Check
from slipway.hosting.endpoint import DeployedEndpoint
from slipway.operations import cost, key_values, status, usage, verify
from slipway.operations.last_failure import Failure
from slipway.refreshing.difference import Difference
from slipway.reports import services
from slipway.reports.figures import Figures
from slipway.stack.alarms import AlarmOn
from slipway.watch.callers import busiest
from slipway.watch.snapshot import Service

# The functions that build an object from literals, and the dataclasses in it.
_BUILDERS: dict[str, tuple[Any, ...]] = {
    "catalog diff": (Difference,),
    "check": (preflight_report.Report, check._as_json),
    "check --recommend": (preflight_report.Figures, recommend._as_json, recommend._type_as_json),
    "cost": (cost._state, cost._ways, callers._who, callers._shares),
    "diff": (Change, Acknowledgement, change_report.as_json),
    "fleet plan": (Bill, Finding, plan_page.content, plan_page._set_content, plan_page._target_content),
    "fleet status": (
        fleet_status.state_of,
        fleet_status._stack_state,
        fleet_status._set_state,
        fleet_cost.cost_of,
        Figures,
    ),
    "keys": (key_values._shown, key_values._made, key_values._revoke),
    "list": (services.content_of, Figures),
    "status": (
        *(Service.ask, Service._ask_slowly, busiest, Figures),
        *(Failure, AlarmOn, status.state_of, status._queue, DeployedEndpoint.state, DeployedEndpoint.backlog),
        *(machines.DeployedMachines.state, machines._shown),
    ),
    "usage": (usage._show, callers._who, callers._shares),
    "verify": (Check, verify._verify),
}


def json_keys() -> Iterator[str]:
    """Yield `verb: key`."""
    for verb, builders in _BUILDERS.items():
        for each in builders:
            yield from (f"{verb}: {key}" for key in (_fields(each) if is_dataclass(each) else _literals(each)))


def _fields(kind: Any) -> Iterator[str]:
    """Yield the fields of a dataclass, and of those in it."""
    hints = get_type_hints(kind)
    for each in fields(kind):
        yield each.name
        for inner in (hints[each.name], *get_args(hints[each.name])):
            yield from _fields(inner) if is_dataclass(inner) else ()


def _literals(builder: Any) -> Iterator[str]:
    """Yield the keys of a function's dictionaries; those with capitals are of AWS's requests."""
    for each in ast.walk(ast.parse(dedent(getsource(builder)))):
        for key in each.keys if isinstance(each, ast.Dict) else ():
            if isinstance(key, ast.Constant) and str(key.value).islower():
                yield str(key.value)
