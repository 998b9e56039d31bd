"""One EC2 instance: its state, its disk, and its machine, a process group that runs user data and services."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.ec2 import faults, sleepers
from local_cloud.emulator.ec2.launch import Launch
from local_cloud.emulator.ec2.metadata import MetadataService
from local_cloud.emulator.ec2.refusal import Ec2Error
from local_cloud.emulator.services import iam
from local_cloud.emulator.vpc import network
from local_cloud.interpreters.start import command
from local_cloud.machine import clock as machine_clock
from local_cloud.machine import commands, python

_CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}
_PUBLIC_ADDRESS = "203.0.113.25"  # from a block that is reserved for documentation
_NOWHERE = "http://127.0.0.1:9"  # the discard port, on which nobody listens
_SHUT_DOWN_SECONDS = 100
_ANSWER_SECONDS = 5
# The permissions that the SSM agent needs before Systems Manager calls its machine Online.
_AGENT_ACTIONS = ("ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:OpenControlChannel")

# How long an instance is pending, in seconds of the cloud; tests may change it.
boot_seconds = 1.0


class Ec2Instance:
    """An instance; `record` is MiniStack's record, which DescribeInstances shows."""

    def __init__(self, record: dict[str, Any], launch: Launch) -> None:
        self.record, self.launch = record, launch
        self.id: str = record["InstanceId"]
        self.is_decrypted = True  # otherwise EC2 undoes a start, because its starter may not use the volume's key
        self._is_booted = False
        self._model_port = 0
        self._has_news = threading.Event()
        self.disk = Path(tempfile.mkdtemp(prefix=f"{self.id}-"))
        self._lock = threading.RLock()
        self._process: subprocess.Popen[str] | None = None
        self._metadata: MetadataService | None = None
        self._settled = threading.Condition(self._lock)
        for folder in ("etc", "opt", "root", "run", "tmp", "var/lib/cloud", "var/log"):
            (self.disk / folder).mkdir(parents=True)
        (self.disk / "var/lib/cloud/user-data").write_bytes(launch.user_data)
        self._become("stopped")
        self.start()

    @property
    def state(self) -> str:
        return str(self.record["State"]["Name"])

    @property
    def volume_id(self) -> str:
        return str(self.record["BlockDeviceMappings"][0]["Ebs"]["VolumeId"])

    @property
    def is_online(self) -> bool:
        """Whether the SSM agent runs and may talk to Systems Manager."""
        role = self.launch.role_arn
        may = role is not None and all(iam.role_may(role, action, "*") for action in _AGENT_ACTIONS)
        reaches = all(self._place.way_to(service)[0] for service in ("ssm", "ssmmessages"))
        return self.state == "running" and self._is_booted and reaches and may

    @property
    def _place(self) -> network.Place:
        launch = self.launch
        return network.Place((launch.subnet_id,), tuple(launch.group_ids), launch.has_public_address)

    @property
    def _reaches_aws(self) -> bool:
        launch = self.launch
        return network.reaches_aws(launch.subnet_id, launch.group_ids, launch.has_public_address)

    def describe(self) -> dict[str, Any]:
        """State, disk and processes of the instance, for `/_slipway/machines`."""
        found: dict[str, Any] = {
            "id": self.id,
            "state": self.state,
            "disk": str(self.disk),
            "pid": self._process.pid if self._process else None,
            "services": {},
        }
        with contextlib.suppress(OSError, ValueError):
            found["services"] = commands.ask_init("pids", port=self._init_port(), timeout=_ANSWER_SECONDS)
        return found

    def _init_port(self) -> str:
        return (self.disk / "run/init-port").read_text()

    def start(self) -> None:
        """Start the instance if it is stopped: pending, then running."""
        with self._lock:
            if self.state == "stopped":
                self._become("pending")
                self.record["LaunchTime"] = f"{datetime.fromtimestamp(clock.now(), UTC):%Y-%m-%dT%H:%M:%S.000Z}"
                self.record["PublicIpAddress"] = _PUBLIC_ADDRESS if self.launch.has_public_address else ""
                self._work(self._run)

    def stop(self) -> None:
        """Shut down the machine and keep its disk."""
        with self._lock:
            if self.state == "running":
                self._become("stopping")
                self._work(self._shut_down, "stopped")

    def terminate(self) -> None:
        """Shut down the machine and remove its disk."""
        with self._lock:
            if self.state not in ("shutting-down", "terminated"):
                self._become("shutting-down")
                self._work(self._shut_down, "terminated")

    def power_off(self) -> None:
        """Kill all processes at once, at the end of the emulator."""
        if self._process:
            _kill_group(self._process.pid)

    def wait_until(self, *states: str) -> str:
        """Wait until the instance has one of these states; returns the state."""
        with self._settled:
            self._settled.wait_for(lambda: self.state in states)
            return self.state

    def execute(self, arguments: list[str]) -> tuple[int, str, str]:
        """Run a command on the machine, as the SSM agent does; returns exit status, standard output and error."""
        status, output, errors = commands.ask_init("run", *arguments, port=self._init_port())
        return status, output, errors

    def _work(self, function: Any, *arguments: Any) -> None:
        """Run work on its own thread; an advance of the clock waits for its end."""
        clock.begin_work()
        ministack.in_background(self._until_done, function, *arguments, name=f"{function.__name__} {self.id}")

    def _until_done(self, function: Any, *arguments: Any) -> None:
        try:
            function(*arguments)
        finally:
            clock.end_work()

    def _become(self, state: str) -> None:
        with self._settled:
            self.record["State"] = {"Code": _CODES[state], "Name": state}
            if state in ("stopped", "terminated"):
                self.record["PublicIpAddress"] = ""
            if state == "terminated":
                self.record["_terminated_at"] = clock.MACHINE.time()
            self._settled.notify_all()

    def _run(self) -> None:
        """Run the machine from state pending to the end of its boot."""
        clock.sleep(clock.shortened(boot_seconds), in_work=True)
        with self._lock:
            if self.state != "pending":
                return
            if not self.is_decrypted:
                self._become("stopped")
                return
            failing = faults.take("command_fails")
            commands.install(self.disk, failing.command if failing else "")
            self._metadata = MetadataService(
                self.record, self.launch.metadata_options, self.launch.role_arn, self._place
            )
            self._model_port = _free_port()
            hangs = faults.take("boot_hangs")
            # The pipe is never written: its end tells the machine that the emulator is gone, even after a kill -9.
            self._process = subprocess.Popen(
                ["cat"] if hangs else command("local_cloud.machine", str(self.disk)),
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=(self.disk / "var/log/console").open("ab"),
                text=True,
                start_new_session=True,
            )
            self._has_news.clear()
            self._become("running")
        if not hangs:
            ministack.in_background(self._follow, self._process, name=f"machine {self.id}")
            self._wait_for_boot()

    def _wait_for_boot(self) -> None:
        """Wait until the boot has ended or sleeps; an advance of the clock waits for this, but not for longer."""
        sleepers.when_asleep[self.id] = self._has_news.set
        self._has_news.wait()
        sleepers.when_asleep.pop(self.id, None)

    def _follow(self, process: subprocess.Popen[str]) -> None:
        """Read what the machine reports: the end of its boot, and its own end, from inside or by a kill."""
        assert process.stdout
        for line in process.stdout:
            self._is_booted = line == "booted\n"
            self._has_news.set()
        self._has_news.set()
        with self._lock:
            if self._process is process and self.state == "running":
                terminates = self.launch.shutdown_behavior == "terminate"
                self._become("shutting-down" if terminates else "stopping")
                self._work(self._shut_down, "terminated" if terminates else "stopped")

    def _shut_down(self, end: str) -> None:
        process = self._process
        if process:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_SHUT_DOWN_SECONDS)
            _kill_group(process.pid)
            process.wait()
        if self._metadata:
            self._metadata.close()
        self._process = self._metadata = None
        self._is_booted = False
        if end == "terminated":
            shutil.rmtree(self.disk, ignore_errors=True)
        self._become(end)

    def _environment(self) -> dict[str, str]:
        """The environment of the machine's processes. It has no credentials: the metadata service gives them."""
        assert self._metadata
        connected = self._reaches_aws
        more = {name: os.environ[name] for name in (python.WEIGHTS, python.MODEL_PYTHON) if name in os.environ}
        if not connected:  # for curl
            more["http_proxy"] = _NOWHERE
        return {
            "PATH": f"{self.disk}/usr/bin:{os.environ.get('PATH', os.defpath)}",
            "LANG": "C.UTF-8",
            "HOME": f"{self.disk}/root",
            "TMPDIR": f"{self.disk}/tmp",
            "PYTHONDONTWRITEBYTECODE": "1",
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": self._metadata.url,
            "AWS_ENDPOINT_URL": ministack.own_endpoint_url() if connected else _NOWHERE,
            "MODEL_PORT": str(self._model_port),
            "SLIPWAY_HOME": f"{self.disk}/opt/slipway",
            "SLIPWAY_LOCAL_DISK": str(self.disk),
            "SLIPWAY_LOCAL_INSTANCE_ID": self.id,
            "SLIPWAY_LOCAL_REGION": self._metadata.region,
            machine_clock.SETTING: machine_clock.setting(str(clock.file), clock.STARTED, clock.SPEED, sleepers.port()),
        } | more


def check_capacity(instance_type: str) -> None:
    if faults.take("no_capacity"):
        raise Ec2Error(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you requested.",
            500,
        )


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
