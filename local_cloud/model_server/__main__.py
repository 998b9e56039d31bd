"""Runs the model server like a container, with the environment of the template's Model."""

import os
import re
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from local_cloud.model_server.contract.answer import StartError
from local_cloud.model_server.contract.server import ContainerEngine, ContainerServer
from local_cloud.model_server.djl.own_handler import OwnHandler, handler_folder
from local_cloud.model_server.djl.properties import read_properties, variables_of
from local_cloud.model_server.embeddings.engine import VectorEngine, makes_vectors
from local_cloud.model_server.text.catalog_row import row_of
from local_cloud.model_server.text.engine import TextEngine

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def main(environment: Mapping[str, str]) -> None:
    """Serve until SIGTERM or the end of standard input; raises StartError if the container cannot start."""
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    engine = _engine(environment)
    port = int(environment["SAGEMAKER_BIND_TO_PORT"])
    server = ContainerServer(port, engine, _seconds(environment, "SLIPWAY_LOCAL_SECONDS_PER_TOKEN"))
    print(f"model loaded, listening on 127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    finally:
        if isinstance(engine, OwnHandler):
            engine.stop()


def _engine(environment: Mapping[str, str]) -> ContainerEngine:
    """The handler in the model data, otherwise the engine that the catalog names for the image."""
    own, reaches_internet = handler_folder(environment), "SLIPWAY_LOCAL_NO_INTERNET" not in environment
    if own and not reaches_internet and (own / "requirements.txt").is_file():
        raise StartError("pip: no route to https://pypi.org, from which requirements.txt of the handler is installed")
    if own:
        return OwnHandler(environment, own)
    folder = Path(environment["SLIPWAY_LOCAL_MODEL_DIR"]) if "SLIPWAY_LOCAL_MODEL_DIR" in environment else None
    # serving.properties overrides the environment.
    settings = {**environment, **(variables_of(read_properties(folder)) if folder else {})}
    engines = Path(environment["SLIPWAY_LOCAL_ENGINES"])
    row = row_of(environment.get("SLIPWAY_LOCAL_IMAGE", ""), settings, engines)
    model = settings.get(row.variables.get("model", "HF_MODEL_ID"), "")
    if " " in model:
        raise StartError(f"HFValidationError: {model!r} is no id of a repository on the Hub, which has no blanks")
    if not reaches_internet and _HUB_ID.fullmatch(model):
        raise StartError(f"We couldn't connect to 'https://huggingface.co' to load {model}: no route to host")
    return VectorEngine(row, settings) if makes_vectors(row, settings) else TextEngine(row, settings, folder)


def _seconds(environment: Mapping[str, str], name: str) -> float:
    given = environment.get(name, "0")
    try:
        return float(given)
    except ValueError:
        raise StartError(f"{name}: {given!r} is not a number of seconds") from None


def _exit_with_parent() -> None:
    # The emulator holds the other end, which closes when it ends for any reason: no server outlives it.
    # Do not read sys.stdin: a thread that holds its lock aborts an orderly exit of the interpreter.
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
