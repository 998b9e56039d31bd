"""The first process of a machine: runs user data at the first boot and enabled services at each, answers systemctl.

It writes `booted` and `off` to standard output for the emulator. When its standard input closes, the emulator has
ended; then it ends all processes of the machine.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from local_cloud.machine.service import MachineService
from local_cloud.machine.unit_file import UnitError, UnitFile


class Init:
    """The services of one machine, its boot and its end."""

    def __init__(self, disk: Path) -> None:
        self.disk = disk
        self._units = disk / "etc/systemd/system"
        self._wanted = self._units / "multi-user.target.wants"
        self._wanted.mkdir(parents=True, exist_ok=True)
        self._journal = (disk / "var/log/messages").open("ab", buffering=0)
        self._services: dict[str, MachineService] = {}
        self._is_going_off = threading.Event()
        self.is_off = threading.Event()

    def boot(self) -> None:
        """Run the user data at the first boot; start the enabled services at later ones."""
        ran, user_data = self.disk / "var/lib/cloud/ran", self.disk / "var/lib/cloud/user-data"
        if not ran.exists():
            ran.touch()
            if user_data.read_bytes()[:2] == b"#!":
                with (self.disk / "var/log/cloud-init-output.log").open("ab") as log:
                    user_data.chmod(0o700)
                    subprocess.run([user_data], cwd=self.disk, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        else:
            for link in sorted(self._wanted.iterdir()):
                with contextlib.suppress(UnitError):
                    self._service(link.name).start()
        if not self._is_going_off.is_set():
            print("booted", flush=True)

    def power_off(self) -> None:
        """Stop the services and end the machine, on another thread: a caller of systemctl gets its answer first."""
        if not self._is_going_off.is_set():
            self._is_going_off.set()
            print("off", flush=True)
            threading.Thread(target=self._stop_all).start()

    def _stop_all(self) -> None:
        for service in reversed(self._services.values()):  # the newest first: they may need the others
            service.stop()
        self.is_off.set()

    def link(self, *paths: str) -> None:
        for path in map(Path, paths):
            UnitFile.read(path)
            link = self._units / path.name
            if path != link:
                link.unlink(missing_ok=True)
                link.symlink_to(path)

    def enable(self, *names: str) -> None:
        for name in names:
            if "/" in name:
                self.link(name)
            if not self._service(name).unit.is_enabled_by_target:
                raise UnitError(f"The unit files have no installation config: {name}")
            link = self._wanted / _unit_name(name)
            if not link.is_symlink():
                link.symlink_to(self._units / link.name)

    def disable(self, *names: str) -> None:
        for name in names:
            (self._wanted / _unit_name(name)).unlink(missing_ok=True)

    def start(self, *names: str) -> None:
        for name in names:
            self._service(name).start()

    def stop(self, *names: str) -> None:
        for name in names:
            self._service(name).stop()

    def restart(self, *names: str) -> None:
        self.stop(*names)
        self.start(*names)

    def states(self, *names: str) -> dict[str, str]:
        """The state of these services, by default of all."""
        return {name: self._service(name).state for name in names or self._services}

    def enabled(self, *names: str) -> dict[str, str]:
        return {name: "enabled" if (self._wanted / _unit_name(name)).is_symlink() else "disabled" for name in names}

    def pids(self) -> dict[str, int]:
        """Service name, without `.service`, -> process id of each running service."""
        return {name.removesuffix(".service"): service.pid for name, service in self._services.items() if service.pid}

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run an operator's command; returns exit status, standard output and standard error."""
        result = subprocess.run(
            arguments, cwd=self.disk, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        return result.returncode, result.stdout, result.stderr

    def reload(self) -> None:
        """Read the unit files again, except those of running services."""
        for name in [name for name, service in self._services.items() if service.state in ("inactive", "failed")]:
            del self._services[name]

    def _service(self, name: str) -> MachineService:
        name = _unit_name(name)
        if name not in self._services:
            path = self._units / name
            if not path.exists():
                raise UnitError(f"Unit {name} could not be found.")
            environment, folder = dict(os.environ), str(self.disk)
            self._services[name] = MachineService(
                UnitFile.read(path), environment, folder, self._journal, self.power_off
            )
        return self._services[name]


def _unit_name(name: str) -> str:
    name = Path(name).name
    return name if "." in name else f"{name}.service"


def _serve(machine: Init, listener: socket.socket) -> None:
    """Answer systemctl and the emulator: in comes JSON with a verb and names, out goes a result or an error."""
    verbs: dict[str, Callable[..., object]] = {
        "daemon-reload": machine.reload,
        "disable": machine.disable,
        "enable": machine.enable,
        "is-active": machine.states,
        "is-enabled": machine.enabled,
        "link": machine.link,
        "pids": machine.pids,
        "poweroff": machine.power_off,
        "restart": machine.restart,
        "run": machine.run,
        "start": machine.start,
        "status": machine.states,
        "stop": machine.stop,
    }

    def answer(connection: socket.socket) -> None:
        with connection, connection.makefile("rw") as stream:
            verb, *names = json.loads(stream.readline())
            try:
                stream.write(json.dumps({"found": verbs[verb](*names)}))
            except UnitError as error:
                stream.write(json.dumps({"error": str(error)}))
            except KeyError:
                stream.write(json.dumps({"error": f"Unknown command verb '{verb}'."}))

    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def _end_with_emulator() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> None:
    disk = Path(sys.argv[1])
    threading.Thread(target=_end_with_emulator, daemon=True).start()
    machine = Init(disk)
    signal.signal(signal.SIGTERM, lambda *_: machine.power_off())
    listener = socket.create_server(("127.0.0.1", 0))
    os.environ["SLIPWAY_LOCAL_INIT_PORT"] = str(listener.getsockname()[1])
    (disk / "run").mkdir(exist_ok=True)
    (disk / "run/init-port").write_text(os.environ["SLIPWAY_LOCAL_INIT_PORT"])
    threading.Thread(target=_serve, args=(machine, listener), daemon=True).start()
    threading.Thread(target=machine.boot, daemon=True).start()
    while not machine.is_off.wait(0.5):  # wakes up so that the handler of SIGTERM can run
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
