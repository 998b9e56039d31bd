"""Runs the model server as a container would run, with the environment of the template's Model."""

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from types import FrameType

from local_cloud.model_server.answer import StartError
from local_cloud.model_server.engines import make_engine
from local_cloud.model_server.language_model import LanguageModel
from local_cloud.model_server.server import ModelServer, StoppableEngine


def main(environment: Mapping[str, str]) -> None:
    """Serve until SIGTERM or the end of standard input; raises StartError for a configuration that cannot start."""
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    engine_name = environment.get("SLIPWAY_LOCAL_ENGINE", "lmi")
    engine = make_engine(environment, LanguageModel())
    time.sleep(_seconds(environment, "SLIPWAY_LOCAL_STARTUP_SECONDS"))
    port = int(environment["SAGEMAKER_BIND_TO_PORT"])
    server = ModelServer(port, engine, _seconds(environment, "SLIPWAY_LOCAL_SECONDS_PER_TOKEN"))
    print(f"{engine_name}: model loaded, listening on 127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    finally:
        if isinstance(engine, StoppableEngine):
            engine.stop()


def _seconds(environment: Mapping[str, str], name: str) -> float:
    given = environment.get(name, "0")
    try:
        return float(given)
    except ValueError:
        raise StartError(f"{name}: {given!r} is not a number of seconds") from None


def _exit_with_parent() -> None:
    # The emulator holds the other end, which closes however it dies: no server outlives it.
    # Not by sys.stdin: a thread that holds its lock aborts the interpreter's orderly exit.
    while os.read(0, 4096):
        pass
    os._exit(0)


def _stop(signal_number: int, frame: FrameType | None) -> None:
    sys.exit(0)


if __name__ == "__main__":
    try:
        main(os.environ)
    except StartError as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(1)
