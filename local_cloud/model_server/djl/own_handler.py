"""A DJL container that runs the model.py of its archive.

Source of launch, timeouts and statuses: Connection.java, PyProcess.java and PyModel.java of djl-serving.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local_cloud.model_server.contract.answer import EngineAnswer, StartError, json_answer
from local_cloud.model_server.djl.properties import handler_properties
from local_cloud.model_server.djl.ranks import LoadError, LostError, Ranks

# The engines that DJL launches with mpirun, one process per GPU.
RANKED_ENGINES = {"DeepSpeed", "FasterTransformer", "MPI"}
HEADERS = {"Content-Type": "application/json"}


def handler_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder of the model data if it holds a handler and no setting chooses a built-in one, otherwise None."""
    folder = Path(environment.get("SLIPWAY_LOCAL_MODEL_DIR", ""))
    if not folder.is_absolute() or not (folder / "model.py").is_file():
        return None
    entry_point = handler_properties(folder, environment).get("entryPoint", "model.py")
    return folder if entry_point == "model.py" else None


class OwnHandler:
    """Answers invocations with a handler, one at a time."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment, self._folder = environment, folder
        self._properties = handler_properties(folder, environment)
        self.most_concurrent_requests = self._number("job_queue_size", "1000")
        # The images set both variables; an option overrides them.
        self._load_seconds = self._number("model_loading_timeout", environment.get("MODEL_LOADING_TIMEOUT", "1200"))
        self._predict_seconds = self._number("predict_timeout", environment.get("PREDICT_TIMEOUT", "240"))
        self._worker = threading.Lock()
        self._ranks: Ranks | None = self._start()

    def refuse_overload(self) -> EngineAnswer:
        """The answer to a request beyond `most_concurrent_requests`."""
        return _server_error(503, "ServiceUnavailableException", "Worker queue capacity exceeded for model: model")

    def answer(self, raw: bytes, adapter: str = "") -> EngineAnswer:
        """The handler's answer; a lost worker is restarted for the next request."""
        if adapter:
            return _server_error(404, "AdapterNotFoundException", f"Adapter {adapter} is not known to the handler")
        with self._worker:
            try:
                self._ranks = self._ranks or self._start()
                reply = self._ranks.ask(dict(HEADERS), raw, self._predict_seconds)
            except (LostError, StartError) as error:
                self._ranks = None
                return _server_error(500, "EngineException", str(error))
        content_type = next((v for k, v in reply.headers.items() if k.lower() == "content-type"), "text/plain")
        return EngineAnswer(reply.status, reply.body, content_type)

    def stop(self) -> None:
        """End the handler's processes."""
        if self._ranks:
            self._ranks.stop()

    def _start(self) -> Ranks:
        count = self._rank_count()
        ranks = Ranks(self._folder, self._environment, count)
        own: dict[str, Any] = {"tensor_parallel_degree": count, "device_id": -1} if count else {"device_id": -1}
        try:
            ranks.load({**self._properties, **own}, self._load_seconds)
        except LoadError as error:
            raise StartError(f"Failed to initialize model: {error}") from error
        return ranks

    def _rank_count(self) -> int | None:
        """The number of ranks, None for an engine without ranks. This machine has no GPU, so `max` means one."""
        ranked = self._properties.get("engine") in RANKED_ENGINES or self._properties.get("mpi_mode") == "true"
        if not ranked:
            return None
        tensor = "tensor_parallel_degree"
        degree = 1 if self._properties.get(tensor) == "max" else self._number(tensor, "1")
        return max(degree * self._number("pipeline_parallel_degree", "1"), 1)

    def _number(self, name: str, default: str) -> int:
        given = self._properties.get(name, default)
        if not given.isdecimal():
            raise StartError(f'NumberFormatException: For input string: "{given}" ({name})')
        return int(given)


def _server_error(code: int, kind: str, message: str) -> EngineAnswer:
    """An error of DJL Serving itself, in its shape."""
    return json_answer(code, {"code": code, "type": kind, "message": message})
