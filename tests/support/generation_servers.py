"""`python -m generation` as a process of its own, with the folder of a model as its machine has it."""

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from local_cloud.assembly import ROOT
from support.patience import wait_for


class Answer(NamedTuple):
    status: int
    document: Any


def variables(home: Path, **more: str) -> dict[str, str]:
    """The environment of the machine's processes."""
    own = {
        "SLIPWAY_HOME": str(home),
        "MODEL_ID": "tiny",
        "PYTHONPATH": str(ROOT / "model_src"),
        "PYTHONUNBUFFERED": "1",
    }
    return os.environ | own | more


class GenerationServer:
    """port: on loopback. log: what the process wrote."""

    def __init__(self, home: Path, process: "subprocess.Popen[bytes]") -> None:
        self.home, self.port, self.process = home, 0, process

    @property
    def log(self) -> str:
        return (self.home / "log").read_text()

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, json.loads(response.read()))

    def generate(self, document: Any) -> Answer:
        return self.ask("POST", "/invocations", json.dumps(document).encode())

    def announced_port(self) -> int | None:
        """None before the process listens. Raises AssertionError if it has ended."""
        assert self.process.poll() is None, self.log
        found = re.search(r"listening on port (\d+)", self.log)
        return int(found[1]) if found else None

    def is_ready(self) -> bool:
        """Raises AssertionError if the process has ended."""
        assert self.process.poll() is None, self.log
        return self.ask("GET", "/ping").status == 200


@contextlib.contextmanager
def generation_server(home: Path, **more: str) -> Iterator[GenerationServer]:
    """Serves home/model; the server answers when the block begins."""
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "generation"],
            env=variables(home, MODEL_PORT="0", **more),
            stdout=log,
            stderr=log,
        )
    server = GenerationServer(home, process)
    try:
        server.port = wait_for(server.announced_port, "the server's port")
        wait_for(lambda: server.is_ready() or None, "the model's first answer")
        yield server
    finally:
        process.kill()
        process.wait()
