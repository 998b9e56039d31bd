"""Checks that a deployment's machines match its stack, are closed to the network, and work."""

from collections.abc import Iterator
from typing import Any

from inference_api.machines.row import ALIVE_IN_SECONDS
from slipway.hosting.check import Check
from slipway.hosting.machine import DeployedMachine, age

_TEMPLATE_TAGS = ("aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version")  # EC2 sets them at the launch
_BOOT_IN_SECONDS = 300  # the worker reports after this time at the latest, before the model is loaded
_REPLACE = "raise hosting.renewal by one and deploy: CloudFormation makes new machines"


def machines(own: list[DeployedMachine], wanted: list[str], usual_start_in_seconds: int) -> Check:
    """Check that as many machines exist as the stack asks for. A machine that sleeps is fine."""
    seen = f"{len(own)} of {len(wanted)}"
    if missing := [each for each in wanted if each not in {machine.id for machine in own}]:
        return Check("machines", False, f"{seen}: {', '.join(missing)} of the stack is gone", _REPLACE)
    if not own:
        return Check("machines", False, "the stack has none", "deploy again")
    states = ", ".join(f"{machine.id} is {machine.state}" for machine in own)
    if not any(machine.is_awake for machine in own):
        states += f"; the calls below start one, which usually takes {usual_start_in_seconds} s"
    return Check("machines", True, f"{seen}: {states}")


def configuration(own: list[DeployedMachine], templates: list[str], ec2: Any) -> Check:
    """Check that the stack's launch template started the instances, and that they have its type."""
    types: dict[tuple[str, ...], str] = {}
    for each in templates:
        found = ec2.describe_launch_template_versions(LaunchTemplateId=each, Versions=["$Default"])
        (version,) = found["LaunchTemplateVersions"]
        types[each, str(version["VersionNumber"])] = version["LaunchTemplateData"]["InstanceType"]
    problems = []
    for machine in own:
        launched = tuple(machine.tags.get(name, "?") for name in _TEMPLATE_TAGS)
        if launched not in types:
            asked_for = " or ".join(map(_version, types)) or "none"
            problems.append(f"{machine.id} is of {_version(launched)}; the stack's is {asked_for}")
        elif machine.type != types[launched]:
            problems.append(f"{machine.id} is a {machine.type}, not the stack's {types[launched]}")
    if problems:
        return Check("configuration", False, "; ".join(problems), _REPLACE)
    kinds = ", ".join(sorted(set(types.values())))
    return Check("configuration", True, f"{kinds}, by the stack's launch template")


def access(own: list[DeployedMachine], ec2: Any) -> Check:
    """Check that Systems Manager is the only way in, and that the disks are encrypted."""
    group_ids = sorted({group["GroupId"] for machine in own for group in machine.described["SecurityGroups"]})
    groups = ec2.describe_security_groups(GroupIds=group_ids)["SecurityGroups"]
    open_groups = {group["GroupId"] for group in groups if group["IpPermissions"]}
    problems = [problem for machine in own for problem in _openings(machine, open_groups)]
    if problems:
        return Check("access", False, "; ".join(problems), f"undo that by hand, or {_REPLACE}")
    return Check("access", True, "IMDSv2 only, no inbound rule, no key pair, encrypted disks")


def workers(own: list[DeployedMachine], name: str, now: float) -> Check:
    """Check that the worker of each running machine reports."""
    awake = [machine for machine in own if machine.state == "running"]
    if not awake:
        return Check("workers", True, "no machine runs")
    silent = [machine for machine in awake if not _is_heard(machine, now)]
    booting = [machine for machine in silent if now - machine.launched_at <= _BOOT_IN_SECONDS]
    if broken := [machine for machine in silent if machine not in booting]:
        seen = "; ".join(f"{machine.id} runs, and its worker {_last_word(machine, now)}" for machine in broken)
        fix = f"read `slipway logs {name}`; within minutes it is stopped, and started again for a job"
        return Check("workers", False, seen, fix)
    said = [f"{machine.id} starts" for machine in booting]
    said += [
        f"{machine.id} is {machine.row.state}, heard of {age(machine.row.seen_at, now)} ago"
        for machine in awake
        if machine.row and machine not in booting
    ]
    return Check("workers", True, ", ".join(said))


def agents(own: list[DeployedMachine], ssm: Any) -> Check:
    """Report on the Systems Manager agents. Only an operator's session needs them, so the check never fails."""
    running = [machine.id for machine in own if machine.state == "running"]
    if not running:
        return Check("SSM agent", True, "no machine runs")
    filters = [{"Key": "InstanceIds", "Values": running}]
    pages = ssm.get_paginator("describe_instance_information").paginate(Filters=filters)
    online = {
        each["InstanceId"]
        for page in pages
        for each in page["InstanceInformationList"]
        if each["PingStatus"] == "Online"
    }
    if missing := [each for each in running if each not in online]:
        return Check("SSM agent", True, f"not Online on {', '.join(missing)}: no session gets in, jobs go on")
    return Check("SSM agent", True, f"Online on {', '.join(running)}")


def _version(template: tuple[str, ...]) -> str:
    return " version ".join(template)


def _openings(machine: DeployedMachine, open_groups: set[str]) -> Iterator[str]:
    described = machine.described
    if described.get("MetadataOptions", {}).get("HttpTokens") != "required":
        yield f"{machine.id} answers IMDSv1"
    for group in described["SecurityGroups"]:
        if group["GroupId"] in open_groups:
            yield f"{group['GroupId']} of {machine.id} lets connections in"
    if described.get("KeyName"):
        yield f"{machine.id} has the key pair {described['KeyName']}"
    for volume in machine.volumes:
        if not volume["Encrypted"]:
            yield f"{volume['VolumeId']} of {machine.id} is not encrypted"


def _is_heard(machine: DeployedMachine, now: float) -> bool:
    """Whether the worker has reported since the machine's last start, and recently."""
    row = machine.row
    return row is not None and row.seen_at > machine.launched_at and now - row.seen_at <= ALIVE_IN_SECONDS


def _last_word(machine: DeployedMachine, now: float) -> str:
    return f"was last heard of {age(machine.row.seen_at, now)} ago" if machine.row else "has never begun"
