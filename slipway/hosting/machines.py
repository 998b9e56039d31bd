"""Reads a deployment's EC2 machines for verify, status, logs and list."""

import time
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from botocore.exceptions import ClientError

from inference_api.machines.row import MachineRow, from_item, machine_key, usual_boot
from llm_hosting import MACHINE_LOGS
from llm_hosting.catalog.instances import ec2_instances, machine_prices
from slipway.hosting import machine_checks
from slipway.hosting.check import NOT_DEPLOYED, Check
from slipway.hosting.machine import DeployedMachine, age, moment, tagged_instances, volumes_of
from slipway.hosting.meter import Meter, Metric
from slipway.stack.deployed_stack import DeployedStack


class DeployedMachines:
    """The machines of a stack, and machines of earlier stacks with the same tags."""

    failure = ""
    log_parts: tuple[str, ...] = ("setup", "model", "worker")
    first_of_start = "boot"

    def __init__(self, stack: DeployedStack) -> None:
        self._stack = stack

    @property
    def may_sleep(self) -> bool:
        return True

    @property
    def log_group(self) -> str:
        return f"{MACHINE_LOGS}{self._stack.unique_name}"

    @property
    def takes_calls(self) -> bool:
        return bool(self.own)

    @property
    def running(self) -> Counter[str]:
        return Counter(machine.type for machine in self.own if machine.is_awake)

    @property
    def calls(self) -> Metric | None:
        return Metric("Slipway", "JobsAccepted", {"Deployment": self._stack.name})

    def calls_by_model(self) -> dict[str, Metric]:
        return {self._stack.label.model: self.calls} if self.calls else {}

    def meters(self) -> list[Meter]:
        """Return a meter for each machine that the stack has, also for those that sleep."""
        return [Meter(Metric("AWS/EC2", "CPUUtilization", {"InstanceId": each.id}), (each.type,)) for each in self.own]

    @property
    def wanted(self) -> list[str]:
        """The ids of the stack's instances, whether or not they still exist."""
        return self._stack.resources.get("AWS::EC2::Instance", [])

    @cached_property
    def own(self) -> list[DeployedMachine]:
        """The stack's machines that exist, by number."""
        described = [each for each in self._tagged if each["InstanceId"] in self.wanted]
        volumes = volumes_of([each["InstanceId"] for each in described], self._stack.clients("ec2"))
        found = [self._machine(each, volumes) for each in described]
        return sorted(found, key=lambda machine: machine.number)

    @property
    def usual_start_in_seconds(self) -> int:
        """The seconds from a start to the model's first answer, as last measured."""
        return round(usual_boot(self._rows.values()))

    def checks(self) -> Iterator[Check]:
        """Check the machines and, if any exists, their configuration, access, workers and agents."""
        if not self.wanted and not self._stack.deploys_endpoint:
            yield Check("machines", True, NOT_DEPLOYED)
            return
        yield machine_checks.machines(self.own, self.wanted, self.usual_start_in_seconds)
        if self.own:
            ec2, templates = self._stack.clients("ec2"), self._stack.resources.get("AWS::EC2::LaunchTemplate", [])
            yield machine_checks.configuration(self.own, templates, ec2)
            yield machine_checks.access(self.own, ec2)
            yield machine_checks.workers(self.own, self._stack.name, time.time())
            yield machine_checks.agents(self.own, self._stack.clients("ssm"))

    def still_billing(self) -> Check:
        """Check for machines of earlier stacks. They bill while they run, and their disks always bill."""
        others = [f"{each['InstanceId']} ({each['State']['Name']})" for each in self._others]
        if not others:
            return Check("still billing", True, "no machine of an earlier stack")
        ids = " ".join(each["InstanceId"] for each in self._others)
        seen = f"{', '.join(others)} with the deployment's tags, and not of its stack"
        return Check("still billing", False, seen, f"aws ec2 terminate-instances --instance-ids {ids}")

    def state(self) -> dict[str, Any]:
        disks = sum(volume["Size"] for machine in self.own for volume in machine.volumes)
        return {
            "machines": [_shown(machine) for machine in self.own],
            "machines_wanted": len(self.wanted),
            "usual_start_in_seconds": self.usual_start_in_seconds,
            "usd_per_hour": _price(self.own),
            "disks_in_gb": disks,
            "usd_per_month_asleep": round(disks * machine_prices().volume_usd_per_gb_and_month, 2),
        }

    def cost(self, state: dict[str, Any]) -> str:
        awake, price, disks = self.running.total(), state["usd_per_hour"], state["disks_in_gb"]
        rate = "not known" if price is None else f"about {price:.2f} USD an hour"
        running = f"{rate} for {awake} that run{'s' if awake == 1 else ''} now"
        asleep = f"{disks} GB of disk, about {state['usd_per_month_asleep']:.2f} USD a month"
        costs = "; ".join([running] * bool(awake) + [asleep] * bool(disks))
        told = self._stack.price(costs) if costs else ""
        return told if awake else "; ".join(filter(None, ("no machine runs", told)))

    def lines(self, state: dict[str, Any]) -> Iterator[tuple[str, str]]:
        now = time.time()
        asleep = sum(not machine.is_awake for machine in self.own)
        if not self.wanted and not self._stack.deploys_endpoint:
            yield "machines", NOT_DEPLOYED
            return
        yield "machines", f"{len(self.own)} of {len(self.wanted)}" + (f", {asleep} asleep" if asleep else "")
        yield from (("", _line(machine, now)) for machine in self.own)
        yield "start", f"usually {state['usual_start_in_seconds']} s from asleep{self._refusal(now)}"
        yield "cost", self.cost(state)

    def backlog(self) -> dict[str, int]:
        """Return nothing, because all jobs wait in the deployment's own queue."""
        return {}

    @cached_property
    def _tagged(self) -> list[dict[str, Any]]:
        return tagged_instances(self._stack.name, self._stack.clients("ec2"))

    @property
    def _others(self) -> list[dict[str, Any]]:
        return [each for each in self._tagged if each["InstanceId"] not in self.wanted]

    @cached_property
    def _rows(self) -> dict[str, MachineRow]:
        """The workers' rows by instance id; empty if the table does not exist."""
        table, dynamodb = self._stack.outputs.get("JobTable"), self._stack.clients("dynamodb")
        if table is None:
            return {}
        try:
            rows = [
                from_item(number, dynamodb.get_item(TableName=table, Key=machine_key(number)).get("Item", {}))
                for number in range(len(self.wanted))
            ]
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            return {}
        return {row.instance_id: row for row in rows}

    def _machine(self, described: dict[str, Any], volumes: list[dict[str, Any]]) -> DeployedMachine:
        id_ = described["InstanceId"]
        own = [each for each in volumes if any(at["InstanceId"] == id_ for at in each["Attachments"])]
        return DeployedMachine(described, self._rows.get(id_), own)

    def _refusal(self, now: float) -> str:
        """Tell of a start that EC2 refused, unless there was a later attempt or the machine has reported since."""
        refused = [row.refused_at for row in self._rows.values() if row.refused_at > max(row.asked_at, row.seen_at)]
        return f"; EC2 refused one {age(max(refused), now)} ago" if refused else ""


def _shown(machine: DeployedMachine) -> dict[str, Any]:
    row = machine.row
    return {
        "number": machine.number,
        "id": machine.id,
        "type": machine.type,
        "state": machine.state,
        "worker": row and {"state": row.state, "seen_at": moment(row.seen_at)},
    }


def _line(machine: DeployedMachine, now: float) -> str:
    line = f"{machine.number}: {machine.id}, {machine.type}, {machine.state}"
    if machine.row is None:
        return f"{line}; no worker has begun"
    is_said = f"worker {machine.row.state}, " if machine.is_awake else "worker "
    return f"{line}; {is_said}heard of {age(machine.row.seen_at, now)} ago"


def _price(machines: list[DeployedMachine]) -> float | None:
    """Return USD an hour of the running machines and their addresses; None = the price of a type is not known."""
    total = 0.0
    for machine in machines:
        if machine.is_awake:
            known = ec2_instances().get(machine.type)
            if known is None or known.usd_per_hour is None:
                return None
            has_address = bool(machine.described.get("PublicIpAddress"))
            total += known.usd_per_hour + has_address * machine_prices().address_usd_per_hour
    return round(total, 3)
