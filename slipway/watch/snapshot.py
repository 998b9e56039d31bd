"""Asks for all that the page shows of a service, and goes on after refusals."""

import time
from datetime import UTC, datetime
from typing import Any

from slipway.hosting.hosting import hosting_of
from slipway.operations.status import state_of
from slipway.reports.places import NotAsked, answer_of
from slipway.reports.services import figures_of, this_month
from slipway.shared.aws_clients import Clients, clients_in
from slipway.stack.deployed_stack import DeployedStack, find_stack
from slipway.watch.callers import busiest
from slipway.watch.gauges import Gauge, gauges_of, read

_SLOW_IN_SECONDS = 300  # cost, callers and the list of gauges change slowly, and take more calls

Snapshot = dict[str, Any]


class Service:
    """A deployed service that is asked again and again."""

    def __init__(self, name: str, region: str | None) -> None:
        self._name, self._region = name, region
        self._clients: Clients | None = None
        self._slow: Snapshot = {}
        self._slow_of: tuple[Any, ...] = ()
        self._gauges: list[Gauge] = []
        self._asked_at = 0.0

    @property
    def gauges(self) -> int:
        """The number of metrics that each question asks for."""
        return len(self._gauges)

    def ask(self) -> Snapshot:
        """Return the object that `--watch --json` prints: all, or `not_asked` with the reason in a sentence."""
        at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        found = answer_of(Service._ask, self)
        if isinstance(found, NotAsked):
            self._clients = None  # new credentials may be there by the next time
            return {"at": at, "name": self._name, "not_asked": found.why}
        return {"at": at, **found, "not_asked": None}

    def _ask(self) -> Snapshot:
        self._clients = self._clients or clients_in(self._region)
        stack = find_stack(self._name, self._clients)
        state = state_of(stack)
        self._ask_slowly(stack)
        return {**state, "gauges": read(stack, self._gauges), **self._slow}

    def _ask_slowly(self, stack: DeployedStack) -> None:
        of = (stack.described["StackId"], stack.status, stack.described.get("LastUpdatedTime"), stack.endpoint_name)
        if of == self._slow_of and time.monotonic() - self._asked_at < _SLOW_IN_SECONDS:
            return
        month = this_month()
        self._gauges = gauges_of(stack, hosting_of(stack))
        cost = answer_of(lambda each: figures_of(each, month), stack)
        callers = answer_of(lambda each: busiest(each, month), stack)
        figures, basis = cost if not isinstance(cost, NotAsked) else (None, cost.why)
        self._slow = {
            "month": f"{month:%Y-%m}",
            "cost": figures and figures.content,
            "basis": basis,
            "callers": callers.why if isinstance(callers, NotAsked) else callers,
        }
        self._slow_of, self._asked_at = of, time.monotonic()
