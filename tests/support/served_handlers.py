"""Packs and unpacks own handlers as for an endpoint, and serves them by the local model server."""

import contextlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from llm_hosting.archive import pack
from local_cloud.model_server.djl.own_handler import OwnHandler, handler_folder
from support.repository import ROOT

HANDLERS = ROOT / "model_src"


def unpack(handler: Path, properties: Mapping[str, str], folder: Path) -> Path:
    """Unpack a handler's archive into a folder, as a container does, and return the folder."""
    with tarfile.open(fileobj=io.BytesIO(pack(handler, properties)), mode="r:gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def environment_of(folder: Path, disk: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a container with this model folder; `disk` is its /tmp."""
    disk.mkdir(exist_ok=True)
    own = {"PATH": os.defpath, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(disk)}
    return own | {"SLIPWAY_LOCAL_MODEL_DIR": str(folder)} | variables


@contextlib.contextmanager
def served(handler: Path, properties: Mapping[str, str], where: Path, **variables: str) -> Iterator[OwnHandler]:
    """Serve the handler, ready after its warm-up call. `where` gets its folder and its disk. Raises StartError."""
    environment = environment_of(unpack(handler, properties, where / "model"), where / "tmp", **variables)
    folder = handler_folder(environment)
    assert folder
    engine = OwnHandler(environment, folder)
    try:
        yield engine
    finally:
        engine.stop()


def ask(engine: OwnHandler, body: Any) -> tuple[int, Any]:
    """Send a request; return the status and the decoded body of the answer. A body of bytes is sent unchanged."""
    answer = engine.answer(body if isinstance(body, bytes) else json.dumps(body).encode())
    return answer.status, json.loads(answer.body)
