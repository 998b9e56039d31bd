"""A real model as a child process, which all containers of a local cloud ask."""

import json
import os
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from llm_hosting.home import HOME
from local_cloud.interpreters.environments import MODELS
from local_cloud.real_model.error import RealModelError
from local_cloud.real_model.folder import folder_of

_WORKER = Path(__file__).with_name("worker.py")


class RealModel:
    """The model's process, which ends with the context or with this process.

    name: as the user gave it. folder: with its files. url: where it answers, as soon as it has loaded.
    """

    def __init__(self, name: str) -> None:
        """Find the model, which may be a download, and begin to load it. Raises RealModelError."""
        self.name, self.folder, self.python = name, folder_of(name), MODELS.python()
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (an unnamed file disappears with this process)
        # The socket is ours, so that the address is known before the model has loaded.
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            self._process = subprocess.Popen(
                [self.python, "-P", _WORKER, str(self.folder), str(listener.fileno())],
                env=os.environ | {"PYTHONPATH": str(HOME / "model_src"), "HF_HUB_OFFLINE": "1"},
                pass_fds=[listener.fileno()],
                stdin=subprocess.PIPE,  # it closes when this process ends
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
                start_new_session=True,  # Ctrl-C is meant for us
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process. A second call does nothing."""
        self._process.kill()
        self._process.communicate()  # closes the pipes
        self._log.close()

    def wait_until_ready(self) -> None:
        """Wait until the model has loaded and answered a first prompt. Raises RealModelError if it can't."""
        assert self._process.stdout
        if line := self._process.stdout.readline():
            self.has_chat_template: bool = json.loads(line)["chat_template"]
            return
        code = self._process.wait()
        self._log.seek(0)
        reason = (self._log.read().strip().splitlines() or [f"exit status {code}"])[-1]
        if code < 0:
            reason = f"its process was killed by signal {-code}, most likely for lack of memory"
        raise RealModelError(f"--real: {self.name} can't be loaded: {reason}; name another model.")
