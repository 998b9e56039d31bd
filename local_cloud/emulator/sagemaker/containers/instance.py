"""One instance of an endpoint: its model container is a local process, which is restarted whenever it ends."""

import http.client
import os
import secrets
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.sagemaker.containers.log import ContainerLog
from local_cloud.emulator.services import iam
from local_cloud.emulator.vpc import reach
from local_cloud.emulator.vpc.network import Place
from local_cloud.interpreters.start import command

_EXITS_BEFORE_GIVING_UP = 3
_PING_SECONDS = 2
_PING_INTERVAL_IN_SECONDS = 0.05
_DRAIN_SECONDS = 60


class ContainerStartError(Exception):
    """The containers did not start; the message is SageMaker's."""


@dataclass(frozen=True)
class ContainerSpec:
    """The container that every instance of a group runs: image, environment, role, limits."""

    endpoint: str
    config: str
    variant: str
    role_arn: str
    image: str
    environment: dict[str, str]
    startup_seconds: float
    # How long the model takes to load, in seconds of the cloud; the rest of a start takes real time.
    loading_seconds: float
    model_folder: Path | None
    # The most requests that an instance gets at once; None = no limit.
    most_at_once: int | None = None
    # The inference component whose copy the container is; "" = the endpoint's configuration names the model.
    component: str = ""
    # Where the adapters of the component are.
    adapters_folder: Path | None = None
    # The network of the container; None = SageMaker's own, from which all is reached.
    place: Place | None = None

    @property
    def log_group(self) -> str:
        if self.component:
            return f"/aws/sagemaker/InferenceComponents/{self.component}"
        return f"/aws/sagemaker/Endpoints/{self.endpoint}"


class EndpointInstance:
    """One instance, whose container is restarted whenever it ends.

    The status is Starting, Loading (it answers, but `loading_seconds` have not passed), InService or Failed.
    """

    def __init__(self, spec: ContainerSpec) -> None:
        self.id = f"i-{secrets.token_hex(9)[:17]}"
        self.port = 0
        self.outstanding = 0
        self.status = "Starting"
        self.loaded_at = 0.0
        self._spec = spec
        self._log = ContainerLog(spec.role_arn, spec.log_group, f"{spec.variant}/{self.id}")
        # The instance's /tmp, which outlives a restart of the container.
        self._disk = tempfile.TemporaryDirectory(prefix="slipway-instance-", ignore_cleanup_errors=True)
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        ministack.in_background(self._keep_running, name=f"instance {self.id}")

    @property
    def endpoint(self) -> str:
        return self._spec.endpoint

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def last_line(self) -> str:
        return self._log.last_line

    def stop(self, *, drain: bool) -> None:
        """End the container; with drain only after its outstanding requests have been answered."""
        deadline = time.monotonic() + (_DRAIN_SECONDS if drain else 0)
        while self.outstanding and time.monotonic() < deadline:
            time.sleep(_PING_INTERVAL_IN_SECONDS)
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
        self._disk.cleanup()

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
        self.loaded_at = time.time() + clock.shortened(self._spec.loading_seconds)
        # Nothing is written to the pipe: it closes with the emulator, also after kill -9, which ends the container.
        with subprocess.Popen(
            command("local_cloud.model_server"),
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
            if self.status == "Starting" and _answers_ping(self.port):
                self.status = "Loading"
            if self.status == "Loading" and time.time() >= self.loaded_at:
                self.status = "InService"
                return
            self._stopping.wait(_PING_INTERVAL_IN_SECONDS)

    def _read_output(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._log.write(line.rstrip("\n"))

    def _environment(self) -> dict[str, str]:
        own = {
            "PATH": os.defpath,
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": self._disk.name,
            "SLIPWAY_LOCAL_IMAGE": self._spec.image,
            "SLIPWAY_LOCAL_ENGINES": os.environ["SLIPWAY_LOCAL_ENGINES"],
        }
        if url := os.environ.get("SLIPWAY_LOCAL_MODEL"):
            own["SLIPWAY_LOCAL_MODEL"] = url
        if self._spec.model_folder:
            own["SLIPWAY_LOCAL_MODEL_DIR"] = str(self._spec.model_folder)
        if self._spec.adapters_folder:
            own["SLIPWAY_LOCAL_ADAPTERS"] = str(self._spec.adapters_folder)
        # The container itself calls AWS as the execution role, through its network.
        place = self._spec.place
        session = iam.session_of_role(self._spec.role_arn, f"SageMaker-{self.id}" if place else "SageMaker")
        if place:
            reach.place_session(session, place)
            if not place.reaches_internet:
                own["SLIPWAY_LOCAL_NO_INTERNET"] = "true"
        own |= session
        return own | self._spec.environment | {"SAGEMAKER_BIND_TO_PORT": str(self.port)}


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
