"""Runs `python -m generation` as a process, with a model's folder laid out as on its machine."""

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

from support.patience import PATIENCE_IN_SECONDS, wait_for
from support.repository import ROOT


class Answer(NamedTuple):
    status: int
    document: Any


def variables(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of the machine's processes."""
    own = {
        "SLIPWAY_HOME": str(home),
        "MODEL_ID": "tiny",
        "PYTHONPATH": str(ROOT / "model_src"),
        "PYTHONUNBUFFERED": "1",
    }
    return os.environ | own | more


class GenerationClient:
    """A client of the server that listens on this port of loopback."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_IN_SECONDS)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, json.loads(response.read()))

    def generate(self, document: Any) -> Answer:
        return self.ask("POST", "/invocations", json.dumps(document).encode())

    def is_ready(self) -> bool:
        return self.ask("GET", "/ping").status == 200


class GenerationServer(GenerationClient):
    """A running server. `log`: the file that holds the output of its process."""

    def __init__(self, home: Path, process: "subprocess.Popen[bytes]") -> None:
        self._log, self._process = home / "log", process
        super().__init__(wait_for(self._announced_port, "the server's port"))

    @property
    def log(self) -> str:
        return self._log.read_text()

    def is_ready(self) -> bool:
        """Ask whether the server is ready; raise AssertionError if its process has ended."""
        assert self._process.poll() is None, self.log
        return super().is_ready()

    def _announced_port(self) -> int | None:
        assert self._process.poll() is None, self.log
        found = re.search(r"listening on port (\d+)", self.log)
        return int(found[1]) if found else None


@contextlib.contextmanager
def generation_server(home: Path, python: Path = Path(sys.executable), **more: str) -> Iterator[GenerationServer]:
    """Serve home/model until the block ends; the server is ready when the block begins. `python`: one with torch."""
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [python, "-P", "-m", "generation"],
            env=variables(home, MODEL_PORT="0", **more),
            stdout=log,
            stderr=log,
        )
    try:
        server = GenerationServer(home, process)
        wait_for(lambda: server.is_ready() or None, "the model's first answer")
        yield server
    finally:
        process.kill()
        process.wait()
