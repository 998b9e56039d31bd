"""Own handlers, packed and unpacked as on their way to an endpoint, and served by the local model server."""

import contextlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from llm_hosting.archive import pack
from local_cloud.assembly import ROOT
from local_cloud.model_server.djl.own_handler import OwnHandler, handler_folder

HANDLERS = ROOT / "model_src"


def unpack(handler: Path, properties: Mapping[str, str], folder: Path) -> Path:
    """The model folder of a container that got the handler's archive."""
    with tarfile.open(fileobj=io.BytesIO(pack(handler, properties)), mode="r:gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def environment_of(folder: Path, disk: Path, **variables: str) -> dict[str, str]:
    """The environment of a container with this model folder; `disk` is its /tmp."""
    disk.mkdir(exist_ok=True)
    own = {"PATH": os.defpath, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(disk)}
    return own | {"SLIPWAY_LOCAL_MODEL_DIR": str(folder)} | variables


@contextlib.contextmanager
def served(handler: Path, properties: Mapping[str, str], where: Path, **variables: str) -> Iterator[OwnHandler]:
    """The handler after its warm-up call; `where` holds its folder and its disk. Raises StartError."""
    environment = environment_of(unpack(handler, properties, where / "model"), where / "tmp", **variables)
    folder = handler_folder(environment)
    assert folder
    engine = OwnHandler(environment, folder)
    try:
        yield engine
    finally:
        engine.stop()


def ask(engine: OwnHandler, body: Any) -> tuple[int, Any]:
    """Status and decoded body of the answer; bytes are sent as they are."""
    answer = engine.answer(body if isinstance(body, bytes) else json.dumps(body).encode())
    return answer.status, json.loads(answer.body)
