"""Stand-ins for Amazon Linux's commands: `start.py local_cloud.machine.commands <command> <arguments>`."""

import itertools
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from local_cloud.interpreters.start import command
from local_cloud.machine import python

# The commands of a fresh Amazon Linux 2023 that need a stand-in: the real ones of this machine must not be reached.
INSTALLED = (
    "aws",
    "dnf",
    "halt",
    "poweroff",
    "python3",
    "reboot",
    "shutdown",
    "systemctl",
    "sudo",
    "runuser",
    "timeout",
)
NO_OPERATIONS = (
    "chgrp",
    "chown",
    "groupadd",
    "loginctl",
    "mount",
    "restorecon",
    "swapon",
    "sysctl",
    "useradd",
    "usermod",
)
# Package -> the commands that it installs.
PACKAGES = {
    "amazon-cloudwatch-agent": ("amazon-cloudwatch-agent-ctl",),
    "python3.11": ("python3.11",),
    "python3.11-pip": ("pip3.11",),
}
AGENT_UNIT = """[Unit]
Description=Amazon CloudWatch Agent
[Service]
ExecStart={command}
Restart=on-failure
RestartSec=60s
[Install]
WantedBy=multi-user.target
"""


class CommandError(Exception):
    """A failed command; the message goes to standard error."""


def install(disk: Path, failing: str = "") -> None:
    """Put the stand-ins on a fresh machine's disk; `failing` names a command that fails whenever it is called."""
    programs = disk / "usr/bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name in INSTALLED:
        _install_command(programs, name)
    for name in NO_OPERATIONS:
        python.write_program(programs / name, "exit 0")
    if failing:
        python.write_program(programs / failing, f'echo "{failing}: failed as ordered by a test" >&2; exit 1')


def _install_command(programs: Path, name: str) -> None:
    program = python.COMMAND if name.startswith("python3") else command("local_cloud.machine.commands", name)
    python.write_program(programs / name, f'exec {shlex.join(program)} "$@"')


def _dnf(arguments: list[str]) -> None:
    verb, *packages = [each for each in arguments if not each.startswith("-")]
    programs = _disk() / "usr/bin"
    if verb != "install":
        return
    for package in packages:
        for name in PACKAGES.get(package, ()):
            if not (programs / name).exists():
                _install_command(programs, name)
    print("installed:", *packages)


def _disk() -> Path:
    return Path(os.environ["SLIPWAY_LOCAL_DISK"])


def _aws(arguments: list[str]) -> None:
    words = [each for each in arguments if not each.startswith("--")]
    region = next((arguments[place + 1] for place, each in enumerate(arguments) if each == "--region"), None)
    words = [each for each in words if each != region]
    if words[:2] != ["s3", "cp"] or len(words) != 4:
        raise CommandError(f"aws: the local cloud's machines know `aws s3 cp` only, not: {shlex.join(arguments)}")
    import boto3  # imported here: most commands start faster without it
    from botocore.exceptions import BotoCoreError, ClientError

    s3 = boto3.client("s3", region_name=region or os.environ.get("AWS_REGION", "us-east-1"))
    try:
        _copy(s3, words[2], words[3])
    except (BotoCoreError, ClientError) as error:
        raise CommandError(f"fatal error: {error}") from None


def _copy(s3: Any, source: str, target: str) -> None:
    if source.startswith("s3://"):
        bucket, key = _location(source)
        if target == "-":
            sys.stdout.buffer.write(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
            return
        path = Path(target)
        path = path / Path(key).name if path.is_dir() or target.endswith("/") else path
        path.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file(bucket, key, str(path))
    else:
        bucket, key = _location(target)
        s3.upload_file(source, bucket, key + Path(source).name if key.endswith("/") or not key else key)


def _location(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, parts.path.lstrip("/")


def _systemctl(arguments: list[str]) -> None:
    verb, *names = [each for each in arguments if not each.startswith("-")]
    if verb in ("halt", "reboot"):
        verb = "poweroff"
    found = ask_init(verb, *names)
    if verb in ("is-active", "is-enabled", "status"):
        if "--quiet" not in arguments and "-q" not in arguments:
            print("\n".join(found.values()))
        if not all(state in ("active", "enabled") for state in found.values()):
            sys.exit(3 if verb == "is-active" else 1)
    if verb == "enable" and "--now" in arguments:
        ask_init("start", *names)
    if verb == "disable" and "--now" in arguments:
        ask_init("stop", *names)


def ask_init(verb: str, *names: str, port: str = "", timeout: float | None = None) -> Any:
    """Ask the first process of a machine, by default this one, as systemctl does.

    timeout: seconds, None = no limit. Raises CommandError; OSError if the process does not exist.
    """
    address = ("127.0.0.1", int(port or os.environ["SLIPWAY_LOCAL_INIT_PORT"]))
    with socket.create_connection(address, timeout) as connection:
        connection.sendall(json.dumps([verb, *names]).encode() + b"\n")
        answer = json.loads(connection.makefile().read())
    if "error" in answer:
        raise CommandError(answer["error"])
    return answer["found"]


def _power_off(arguments: list[str]) -> None:
    ask_init("poweroff")


def _agent(arguments: list[str]) -> None:
    """`-a fetch-config -m ec2 -s -c file:<path>`: store the configuration and start the agent with it."""
    given = dict(itertools.pairwise(arguments))
    kind, _, path = given.get("-c", "").partition(":")
    if given.get("-a") != "fetch-config" or kind != "file":
        raise CommandError(
            "amazon-cloudwatch-agent-ctl: the local cloud's machines know -a fetch-config -c file:<path>"
        )
    configuration = _disk() / "opt/aws/amazon-cloudwatch-agent.json"
    configuration.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, configuration)
    json.loads(configuration.read_text())
    agent = shlex.join(command("local_cloud.machine.log_agent", str(configuration)))
    unit = _disk() / "etc/systemd/system/amazon-cloudwatch-agent.service"
    unit.write_text(AGENT_UNIT.format(command=agent))
    if "-s" in arguments:
        ask_init("restart", unit.name)


def _as_another_user(arguments: list[str]) -> None:
    """`sudo -u slipway command` and `runuser -u slipway -- command`: everything here runs as one user."""
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        place += 2 if arguments[place] in ("-u", "-g", "--user") else 1
    os.execvp(arguments[place], arguments[place:])


def _timeout(arguments: list[str]) -> None:
    """`timeout -k 10 60 command`; the command stays in the machine's process group and ends with it."""
    place = 2 if arguments[0] == "-k" else 0
    try:
        sys.exit(subprocess.run(arguments[place + 1 :], timeout=float(arguments[place])).returncode)
    except subprocess.TimeoutExpired:
        sys.exit(124)


COMMANDS: dict[str, Callable[[list[str]], None]] = {
    "amazon-cloudwatch-agent-ctl": _agent,
    "aws": _aws,
    "dnf": _dnf,
    "halt": _power_off,
    "pip3.11": lambda arguments: print("recorded, not run: pip", shlex.join(arguments)),
    "poweroff": _power_off,
    "reboot": _power_off,
    "runuser": _as_another_user,
    "shutdown": _power_off,
    "sudo": _as_another_user,
    "systemctl": _systemctl,
    "timeout": _timeout,
}


if __name__ == "__main__":
    try:
        COMMANDS[sys.argv[1]](sys.argv[2:])
    except CommandError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
