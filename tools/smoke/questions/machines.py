"""A machine of EC2: how it is reached, when it stops, and how long a caller waits who wakes it."""

import socket
import time

from slipway.hosting.hosting import hosting_of
from slipway.hosting.machine import DeployedMachine
from slipway.hosting.machines import DeployedMachines
from tools.smoke.asking.calls import run_job, stream
from tools.smoke.asking.question import Answer, CouldNotAskError, Line, Question
from tools.smoke.asking.stacks import EC2
from tools.smoke.asking.trial import Trial

_PORTS = (22, 80, 443, 3389, 8080)
_CONNECT_IN_SECONDS = 3
_SLOWEST_START_IN_SECONDS = 300
_LONGEST_GAP_IN_SECONDS = 15
_PATIENCE_IN_SECONDS = 1200


def nobody_gets_in(trial: Trial) -> Answer:
    """Read the machine's rules and keys, try some ports from here, and see whether a session would get in."""
    _awake(trial)
    machine, ec2 = _machine(trial), trial.clients("ec2")
    groups = [each["GroupId"] for each in machine.described["SecurityGroups"]]
    described = ec2.describe_security_groups(GroupIds=groups)["SecurityGroups"]
    rules = sum(len(each["IpPermissions"]) for each in described)
    found = [f"{rules} inbound rules", f"key pair {machine.described.get('KeyName') or 'none'}"]
    address = machine.described.get("PublicIpAddress")
    open_ports = [port for port in _PORTS if address and not trial.is_local and _opens(address, port)]
    tried = "not tried here" if trial.is_local or not address else "all closed"
    found += [f"ports {', '.join(map(str, open_ports)) or tried}"]

    def online() -> str | None:
        filters = [{"Key": "InstanceIds", "Values": [machine.id]}]
        agents = trial.clients("ssm").describe_instance_information(Filters=filters)["InstanceInformationList"]
        return next((each["PingStatus"] for each in agents if each["PingStatus"] == "Online"), None)

    agent = trial.wait(online, 180)
    trial.saw(f"{machine.id} at {address}, security groups {', '.join(groups)}")
    is_closed = not (rules or open_ports or machine.described.get("KeyName"))
    return Answer(f"{', '.join(found)}, SSM agent {agent or 'not online'}", is_closed and bool(agent))


def stops_when_idle(trial: Trial) -> Answer:
    """Wait for the machine's own end after its last work."""
    _awake(trial)
    started = time.monotonic()
    if not trial.wait(lambda: _state(trial) == "stopped" or None, _PATIENCE_IN_SECONDS):
        return Answer(f"it is {_state(trial)} after {_PATIENCE_IN_SECONDS} s without work", good=False)
    return Answer(f"stopped {time.monotonic() - started:.0f} s after its last work")


def stream_wakes(trial: Trial) -> Answer:
    """Ask a stopped machine for a stream: the caller is held with comments until the machine has answered."""
    if not trial.wait(lambda: _state(trial) == "stopped" or None, _PATIENCE_IN_SECONDS):
        raise CouldNotAskError("The machine did not stop, so it can't be woken.")
    seen = stream(trial, "completions", {"prompt": "A list is", "max_tokens": 8})
    hosting = hosting_of(trial.stack())
    usual = hosting.state()["usual_start_in_seconds"]
    good = seen.is_whole and seen.seconds < _SLOWEST_START_IN_SECONDS and seen.longest_gap < _LONGEST_GAP_IN_SECONDS
    return Answer(f"{seen}. The machine notes a start of {usual} s", good)


def _awake(trial: Trial) -> None:
    _, job = run_job(trial)
    if job["status"] != "succeeded":
        raise CouldNotAskError(f"A job that should wake the machine is {job['status']}.")


def _machine(trial: Trial) -> DeployedMachine:
    (machine,) = DeployedMachines(trial.stack()).own
    return machine


def _state(trial: Trial) -> str:
    return _machine(trial).state


def _opens(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), _CONNECT_IN_SECONDS).close()
    except OSError:
        return False
    return True


QUESTIONS = (
    Question(
        "machine-is-closed",
        "Is there no way into the machine but a session of Systems Manager?",
        "no inbound rule, no key pair, no open port; the agent is online",
        nobody_gets_in,
        Line("docs/ec2.md", "Getting in", "No port is open, and there is no key pair."),
        minutes=3,
        stack=EC2,
        local="no address leads to a machine there, so no port is tried",
    ),
    Question(
        "machine-stops",
        "Does an idle machine stop itself?",
        "it does, after hosting.idle_minutes (5)",
        stops_when_idle,
        Line("docs/ec2.md", "The life of a machine", "After `hosting.idle_minutes` without work"),
        minutes=7,
        stack=EC2,
    ),
    Question(
        "machine-wakes",
        "How long does a stream wait that wakes a machine, and does it arrive whole?",
        "at most 5 minutes; comments keep it alive",
        stream_wakes,
        Line("docs/ec2.md", "How long a cold answer takes", "nobody has timed this stack on AWS yet"),
        minutes=4,
        stack=EC2,
        local="a machine starts within seconds",
        changes_line=True,
    ),
)
