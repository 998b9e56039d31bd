"""Runs the emulated cloud on the loopback until its standard input ends or it is told to stop."""

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from pathlib import Path

from local_cloud.emulator.core import clock

STATE_PREFIX = "slipway-local-cloud-"
KEPT_FROM_HOST = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE")
# The files with the catalog's engines, for containers, and instance types. Of a real model: its URL for containers; its
# folder and the Python that runs it, for EC2 machines. Ports of issuers of
# tokens by host. The folder for the record of used permissions.
SETTINGS = (
    "SLIPWAY_LOCAL_ENGINES",
    "SLIPWAY_LOCAL_INSTANCES",
    "SLIPWAY_LOCAL_ISSUERS",
    "SLIPWAY_LOCAL_MODEL",
    "SLIPWAY_LOCAL_MODEL_NAME",
    "SLIPWAY_LOCAL_MODEL_PYTHON",
    "SLIPWAY_LOCAL_WEIGHTS",
    "SLIPWAY_LOCAL_PERMISSIONS",
)


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m local_cloud.emulator", description=__doc__)
    arguments.add_argument("--port", type=int, required=True, help="the port on 127.0.0.1 to listen on")
    port: int = arguments.parse_args().port
    listener = _listen(port)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    state = _state_folder()
    emulator_only = _set_environment(port, state)
    clock.start(state / "clock")
    asyncio.run(_serve_until_stopped(listener, emulator_only, state))


def _listen(port: int) -> socket.socket:
    # Bound before the slow imports: a taken port is reported at once, and early callers wait instead of being refused.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        print(f"Port {port} on 127.0.0.1 is taken: stop what uses it, or name another by --port.", file=sys.stderr)
        sys.exit(2)
    listener.listen(128)
    return listener


def _state_folder() -> Path:
    """Create a folder for all files of this run; remove those of emulators that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{STATE_PREFIX}*-*"):
        with contextlib.suppress(PermissionError, ValueError):
            try:
                os.kill(int(folder.name.removeprefix(STATE_PREFIX).split("-")[0]), 0)
            except ProcessLookupError:
                shutil.rmtree(folder, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{STATE_PREFIX}{os.getpid()}-"))


def _set_environment(port: int, state: Path) -> tuple[str, ...]:
    """Replace the host's environment, which functions would inherit; returns the names to hide from functions."""
    settings = {
        "AUTH": "true",
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "S3_DATA_DIR": str(state / "s3"),
        "SFTP_ENABLED": "0",
        "STATE_DIR": str(state / "state"),
        clock.SETTING: str(clock.SPEED),
    }
    settings |= {name: os.environ[name] for name in SETTINGS if name in os.environ}
    host = {name: os.environ[name] for name in KEPT_FROM_HOST if name in os.environ}
    os.environ.clear()
    os.environ.update(host | settings | {"TMPDIR": str(state)})
    tempfile.tempdir = str(state)
    return tuple(settings)


async def _serve_until_stopped(listener: socket.socket, emulator_only: tuple[str, ...], state: Path) -> None:
    # Imported late: the emulator reads the environment when it is imported.
    from local_cloud.emulator import installation
    from local_cloud.emulator.core import ministack
    from local_cloud.emulator.ec2 import operations
    from local_cloud.emulator.lambda_.functions import stop_functions
    from local_cloud.emulator.sagemaker.containers import instance_group

    installation.install(emulator_only)
    server = asyncio.ensure_future(ministack.serve(listener))
    stopped = asyncio.ensure_future(_stop_signal().wait())
    await asyncio.wait({server, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stop_functions()
    operations.power_off_all()
    # Off the event loop: the containers' last lines are logged over HTTP.
    await asyncio.to_thread(instance_group.stop_all_groups)
    shutil.rmtree(state, ignore_errors=True)
    if server.done():
        server.result()
    # Do not wait for requests that still run: nobody is left to read the answers.
    os._exit(0)


def _stop_signal() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set; before this call, SIGTERM ends the process at once."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped


def _end_with_parent() -> None:
    """Stop the emulator when standard input closes: the parent has died, or asks for the end."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
