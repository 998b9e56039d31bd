"""Model containers as local processes: one for each instance of an endpoint, kept running and asked for its health."""

import http.client
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_cloud.emulator import hooks
from local_cloud.emulator.container_log import ContainerLog

CLOCK_SPEED = float(os.environ.get("SLIPWAY_LOCAL_CLOCK_SPEED", "1"))
_ROOT = Path(__file__).parents[2]
_EXITS_BEFORE_GIVING_UP = 3
_PING_SECONDS = 2
_PING_INTERVAL_IN_SECONDS = 0.05


class StartError(Exception):
    """Containers that do not come up, in SageMaker's words."""


@dataclass(frozen=True)
class ContainerSpec:
    """What every instance of a fleet runs."""

    endpoint: str
    variant: str
    role_arn: str
    engine: str
    environment: dict[str, str]
    startup_seconds: float
    model_folder: Path | None

    @property
    def log_group(self) -> str:
        return f"/aws/sagemaker/Endpoints/{self.endpoint}"


class Instance:
    """One instance: its container is started again whenever it ends."""

    def __init__(self, spec: ContainerSpec) -> None:
        self.id = f"i-{secrets.token_hex(9)[:17]}"
        self.port = 0
        self.outstanding = 0
        self.status = "Starting"
        self._spec = spec
        self._log = ContainerLog(spec.role_arn, spec.log_group, f"{spec.variant}/{self.id}")
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        hooks.in_background(self._keep_running, name=f"instance {self.id}")

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def last_line(self) -> str:
        return self._log.last_line

    def stop(self) -> None:
        self._stopping.set()
        process = self._process
        if process:
            process.terminate()
            try:
                process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                process.kill()
        self._stopped.wait(timeout=5)
        self._log.close()

    def _keep_running(self) -> None:
        exits, was_healthy = 0, False
        while not self._stopping.is_set():
            self._run_once()
            was_healthy = was_healthy or self.status == "InService"
            exits += 1
            if not was_healthy and exits >= _EXITS_BEFORE_GIVING_UP:
                self.status = "Failed"
                break
            self.status = "Starting"
            self._stopping.wait(min(0.1 * exits, 5.0) if was_healthy else 0)
        self._stopped.set()

    def _run_once(self) -> None:
        self.port = _free_port()
        # The pipe is never written: its end tells the container that the emulator is gone, even after a kill -9.
        with subprocess.Popen(
            [sys.executable, "-m", "local_cloud.model_server"],
            cwd=_ROOT,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            self._process = process
            if self._stopping.is_set():
                process.terminate()
            printing = threading.Thread(target=self._read_output, args=(process,), daemon=True)
            printing.start()
            self._wait_for_ping(process)
            process.wait()
            printing.join()

    def _wait_for_ping(self, process: subprocess.Popen[str]) -> None:
        while process.poll() is None and not self._stopping.is_set():
            if _answers_ping(self.port):
                self.status = "InService"
                return
            time.sleep(_PING_INTERVAL_IN_SECONDS)

    def _read_output(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._log.write(line.rstrip("\n"))

    def _environment(self) -> dict[str, str]:
        own = {
            "PATH": os.defpath,
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SLIPWAY_LOCAL_ENGINE": self._spec.engine,
        }
        if self._spec.model_folder:
            own["SLIPWAY_LOCAL_MODEL_DIR"] = str(self._spec.model_folder)
        return own | self._spec.environment | {"SAGEMAKER_BIND_TO_PORT": str(self.port)}


class Fleet:
    """The instances that serve one configuration of an endpoint."""

    def __init__(self, spec: ContainerSpec) -> None:
        self.spec = spec
        self.instances: list[Instance] = []
        self._lock = threading.Lock()
        _fleets.append(self)

    def scale_to(self, count: int) -> None:
        """Start or stop instances; raises StartError when new ones do not come up in time."""
        with self._lock:
            surplus = self.instances[count:]
            new = [Instance(self.spec) for _ in range(count - len(self.instances))]
            self.instances = self.instances[:count] + new
        _stop_all(surplus)
        try:
            self._wait_until_healthy(new)
        except StartError:
            with self._lock:
                self.instances = [instance for instance in self.instances if instance not in new]
            _stop_all(new)
            raise

    def stop(self) -> None:
        if self in _fleets:
            _fleets.remove(self)
        with self._lock:
            instances, self.instances = self.instances, []
        _stop_all(instances)
        if self.spec.model_folder:
            shutil.rmtree(self.spec.model_folder, ignore_errors=True)

    def take_least_busy(self) -> Instance | None:
        """The healthy instance with the fewest outstanding requests, which count as its own until give_back()."""
        with self._lock:
            healthy = [instance for instance in self.instances if instance.status == "InService"]
            if not healthy:
                return None
            instance = min(healthy, key=lambda candidate: candidate.outstanding)
            instance.outstanding += 1
            return instance

    def give_back(self, instance: Instance) -> None:
        with self._lock:
            instance.outstanding -= 1

    def _wait_until_healthy(self, instances: list[Instance]) -> None:
        deadline = time.monotonic() + self.spec.startup_seconds / CLOCK_SPEED
        while any(instance.status != "InService" for instance in instances):
            failed = next((instance for instance in instances if instance.status == "Failed"), None)
            if failed or time.monotonic() > deadline:
                raise StartError(_explain(self.spec, failed or instances[0]))
            time.sleep(_PING_INTERVAL_IN_SECONDS / 2)


_fleets: list[Fleet] = []


def list_containers() -> list[dict[str, Any]]:
    return [
        {
            "endpoint": fleet.spec.endpoint,
            "instance": instance.id,
            "pid": instance.pid,
            "port": instance.port,
            "status": instance.status,
        }
        for fleet in list(_fleets)
        for instance in list(fleet.instances)
    ]


def stop_all_fleets() -> None:
    for fleet in list(_fleets):
        fleet.stop()


def new_model_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="slipway-model-"))


def _stop_all(instances: list[Instance]) -> None:
    stopping = [threading.Thread(target=instance.stop) for instance in instances]
    for thread in stopping:
        thread.start()
    for thread in stopping:
        thread.join()


def _explain(spec: ContainerSpec, instance: Instance) -> str:
    reason = (
        f"The primary container for production variant {spec.variant} did not pass the ping health check. "
        "Please check CloudWatch logs for this endpoint."
    )
    return f"{reason} Its last line: {instance.last_line}" if instance.last_line else reason


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers_ping(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PING_SECONDS)
    try:
        connection.request("GET", "/ping")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
