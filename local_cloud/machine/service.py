"""One service of a machine: its process, restarts and end, as in systemd."""

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO

from local_cloud.machine import clock
from local_cloud.machine.unit_file import UnitError, UnitFile

# Signals that systemd treats as a clean end.
_CLEAN_SIGNALS = {-signal.SIGHUP, -signal.SIGINT, -signal.SIGTERM, -signal.SIGPIPE}
_DEFAULT_RESTART_SECONDS = 0.1
_DEFAULT_STOP_SECONDS = 90.0
_STARTS, _START_SECONDS = 5, 10.0


class MachineService:
    """A service; `state` is inactive, activating, active, deactivating or failed."""

    def __init__(
        self,
        unit: UnitFile,
        environment: dict[str, str],
        folder: str,
        journal: IO[bytes],
        succeeded: Callable[[], None],
    ) -> None:
        """succeeded: called when a service with SuccessAction=poweroff ends cleanly."""
        self.unit, self.state = unit, "inactive"
        self._outer, self._folder, self._journal = environment, folder, journal
        self._succeeded = succeeded
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._ended.set()
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self.state == "active" else None

    def start(self) -> None:
        """Start the service unless it runs; with Type=oneshot wait for its end. Raises UnitError."""
        with self._lock:
            if not self._ended.is_set():
                return
            self._stopping.clear()
            self._launch()
            self._ended.clear()
        watching = threading.Thread(target=self._watch, daemon=True)
        watching.start()
        if self.unit.text("Service", "Type") == "oneshot":
            self._ended.wait()
            if self.state == "failed":
                raise UnitError(f"Job for {self.unit.path.name} failed because the control process exited with error.")

    def stop(self) -> None:
        """End the service with SIGTERM, and with SIGKILL after TimeoutStopSec=."""
        self._stopping.set()
        with self._lock:
            if self._process and self._process.poll() is None:
                self.state = "deactivating"
                self._process.terminate()
                try:
                    self._process.wait(self.unit.seconds("Service", "TimeoutStopSec", _DEFAULT_STOP_SECONDS))
                except subprocess.TimeoutExpired:
                    self._process.kill()
        self._ended.wait()

    def _launch(self) -> None:
        environment = self.unit.environment(self._outer)
        (command,) = self.unit.commands("ExecStart", environment) or [[]]
        if not command:
            raise UnitError(f"{self.unit.path.name}: Service has no ExecStart=, refusing.")
        folder = self.unit.text("Service", "WorkingDirectory", self._folder)
        with contextlib.ExitStack() as files:
            output = self._output(files)
            for before in self.unit.commands("ExecStartPre", environment):
                subprocess.run(before, env=environment, cwd=folder, stdout=output, stderr=output, check=False)
            try:
                self._process = subprocess.Popen(
                    command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
                )
            except OSError as error:
                self.state = "failed"
                raise UnitError(f"{self.unit.path.name}: Failed at step EXEC: {error}") from None
        self.state = "active"

    def _output(self, files: contextlib.ExitStack) -> IO[bytes]:
        target = self.unit.text("Service", "StandardOutput", "journal")
        kind, _, path = target.partition(":")
        return files.enter_context(open(path, "ab")) if kind in ("append", "file") else self._journal

    def _watch(self) -> None:
        """Wait for the end of the process, and restart it if the unit asks for that."""
        starts = [time.monotonic()]
        while True:
            assert self._process
            status = self._process.wait()
            clean = status == 0 or status in _CLEAN_SIGNALS
            self.state = "inactive" if clean else "failed"
            if self._stopping.is_set() or not self._restarts(clean):
                break
            self.state = "activating"
            clock.sleep(self.unit.seconds("Service", "RestartSec", _DEFAULT_RESTART_SECONDS))
            starts = [each for each in starts if each > time.monotonic() - _START_SECONDS] + [time.monotonic()]
            if len(starts) > int(self.unit.text("Unit", "StartLimitBurst", str(_STARTS))):
                self.state = "failed"
                break
            try:
                with self._lock:
                    if self._stopping.is_set():
                        self.state = "inactive"
                        break
                    self._launch()
            except UnitError as error:
                self._journal.write(f"{error}\n".encode())
                break
        self._ended.set()
        if self.state == "inactive" and self.unit.text("Unit", "SuccessAction").startswith("poweroff"):
            self._succeeded()

    def _restarts(self, clean: bool) -> bool:
        wanted = self.unit.text("Service", "Restart", "no")
        return wanted == "always" or wanted == ("on-success" if clean else "on-failure")
