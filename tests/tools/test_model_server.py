"""The container contract over real HTTP and, for start and end, with a real process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TGI = {"HF_MODEL_ID": "openai-community/gpt2", "SLIPWAY_LOCAL_ENGINE_VERSION": "1.4.0"}
LMI = {"HF_MODEL_ID": "Qwen/Qwen3-4B", "OPTION_MAX_MODEL_LEN": "200"}
DEEPSPEED = {
    "SLIPWAY_LOCAL_ENGINE": "djl-deepspeed",
    "SLIPWAY_LOCAL_ENGINE_VERSION": "0.27.0",
    "SERVING_ENGINE": "DeepSpeed",
    "HF_MODEL_ID": "facebook/opt-30b",
}
OWN_HANDLER = """
from djl_python import Input, Output

def handle(inputs):
    return None if inputs.is_empty() else Output().add_as_json({"outputs": [inputs.get_as_json()["inputs"]]})
"""


class Caller:
    """Posts bodies over one kept connection."""

    def __init__(self, port: int) -> None:
        self.connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, path: str) -> int:
        return self._read("GET", path, b"")[0]

    def post(self, body: object) -> tuple[int, Any]:
        status, content = self._read("POST", "/invocations", json.dumps(body).encode())
        return status, json.loads(content)

    def _read(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        self.connection.request(method, path, body)
        response = self.connection.getresponse()
        return response.status, response.read()


@contextmanager
def process(environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "local_cloud.model_server"],
        cwd=ROOT,
        env={"SAGEMAKER_BIND_TO_PORT": "0", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as container:
        try:
            yield container
        finally:
            container.kill()


def ready_port(container: "subprocess.Popen[bytes]") -> int:
    assert container.stdout
    return int(container.stdout.readline().rpartition(b":")[2])


@pytest.mark.parametrize(("path", "status"), [("/ping", 200), ("/other", 404)])
def test_ping_is_the_only_page(path: str, status: int) -> None:
    with process(LMI) as container:
        caller = Caller(ready_port(container))
        assert caller.get(path) == status
        caller.connection.close()


def test_one_connection_serves_many_invocations() -> None:
    with process({"SLIPWAY_LOCAL_ENGINE": "tgi", **TGI}) as container:
        caller = Caller(ready_port(container))
        caller.connection.connect()
        socket = caller.connection.sock
        assert [caller.post({"inputs": text})[0] for text in ("Hello", "", "Hello")] == [200, 422, 200]
        assert caller.connection.sock is socket
        caller.connection.close()


@pytest.mark.parametrize(
    ("engine", "environment", "message"),
    [
        ("tgi", {}, b"HF_MODEL_ID must be set"),
        ("tgi", {"HF_MODEL_ID": "/opt/ml/model"}, b"/opt/ml/model"),
        ("tgi", {**TGI, "MAX_INPUT_LENGTH": "2048"}, b"`max_input_length` must be < `max_total_tokens`"),
        ("tgi", {**TGI, "MAX_TOTAL_TOKENS": "many"}, b"invalid value 'many' for '--max-total-tokens"),
        ("lmi", {}, b"HF_MODEL_ID"),
        ("lmi", {**LMI, "OPTION_MAX_MODEL_LEN": "long"}, b"OPTION_MAX_MODEL_LEN"),
        ("lmi", {**LMI, "OPTION_MAX_MODEL_LEN": "0"}, b"Input should be greater than 0"),
        ("lmi", {**LMI, "SLIPWAY_LOCAL_STARTUP_SECONDS": "soon"}, b"SLIPWAY_LOCAL_STARTUP_SECONDS"),
        ("djl-fastertransformer", {**LMI, "SLIPWAY_LOCAL_ENGINE_VERSION": "0.21.0"}, b"serving.properties"),
        ("vllm", {}, b"No model specified."),
    ],
)
def test_a_wrong_environment_ends_the_container(engine: str, environment: dict[str, str], message: bytes) -> None:
    with process({"SLIPWAY_LOCAL_ENGINE": engine, **environment}) as container:
        assert container.stderr
        errors = container.stderr.read()
        assert container.wait(timeout=60) == 1
        assert message in errors.splitlines()[-1]


def test_starting_takes_the_time_it_is_told() -> None:
    started = time.perf_counter()
    with process({**LMI, "SLIPWAY_LOCAL_STARTUP_SECONDS": "0.5"}) as container:
        ready_port(container)
        assert time.perf_counter() - started >= 0.5


def test_a_token_takes_the_time_it_is_told() -> None:
    with process({**LMI, "SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "0.1"}) as container:
        caller = Caller(ready_port(container))
        started = time.perf_counter()
        caller.post({"inputs": "Hello", "parameters": {"max_new_tokens": 3}})
        assert time.perf_counter() - started >= 0.3
        caller.connection.close()


def test_a_handler_that_batches_itself_answers_one_request_after_another() -> None:
    with process({**DEEPSPEED, "SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "0.1"}) as container:
        port = ready_port(container)
        assert seconds_of_calls(port, 2) >= 0.6


def test_requests_that_are_batched_take_the_time_of_one() -> None:
    batching = {"SERVING_BATCH_SIZE": "8", "SERVING_MAX_BATCH_DELAY": "60000"}
    with process({**DEEPSPEED, **batching, "SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "0.5"}) as container:
        port = ready_port(container)
        assert 1.5 <= seconds_of_calls(port, 8) < 8 * 1.5


def seconds_of_calls(port: int, count: int) -> float:
    """How long so many calls at once take, each for 3 tokens."""

    def call(number: int) -> int:
        caller = Caller(port)
        status = caller.post({"inputs": "Hello", "parameters": {"max_new_tokens": 3}})[0]
        caller.connection.close()
        return status

    started = time.perf_counter()
    with ThreadPoolExecutor(count) as callers:
        assert list(callers.map(call, range(count))) == [200] * count
    return time.perf_counter() - started


def test_the_model_datas_own_handler_is_run(tmp_path: Path) -> None:
    (tmp_path / "serving.properties").write_text("engine=Python\n")
    (tmp_path / "model.py").write_text(OWN_HANDLER)
    with process({**DEEPSPEED, "SLIPWAY_LOCAL_MODEL_DIR": str(tmp_path)}) as container:
        caller = Caller(ready_port(container))
        assert caller.post({"inputs": "Hello"}) == (200, {"outputs": ["Hello"]})
        caller.connection.close()


def test_the_container_ends_with_its_parent() -> None:
    with process({"SLIPWAY_LOCAL_ENGINE": "lmi", **LMI}) as container:
        ready_port(container)
        assert container.stdin
        container.stdin.close()
        assert container.wait(timeout=60) == 0


def test_the_container_ends_well_on_sigterm() -> None:
    with process({"SLIPWAY_LOCAL_ENGINE": "tgi", **TGI}) as container:
        ready_port(container)
        container.send_signal(signal.SIGTERM)
        assert container.wait(timeout=60) == 0


def test_a_container_that_still_starts_ends_with_its_parent() -> None:
    with process({**LMI, "SLIPWAY_LOCAL_STARTUP_SECONDS": "600"}) as container:
        assert container.stdin
        container.stdin.close()
        assert container.wait(timeout=60) == 0


def test_the_log_has_a_line_per_invocation_but_no_text_of_it() -> None:
    with process({"SLIPWAY_LOCAL_ENGINE": "lmi", **LMI}) as container:
        caller = Caller(ready_port(container))
        answer = caller.post({"inputs": "a secret xyzzy", "parameters": {"max_new_tokens": 2}})[1]
        caller.connection.close()
        output, errors = container.communicate(timeout=60)
    assert output.startswith(b"POST /invocations 200 2 tokens")
    assert errors == b""
    assert b"xyzzy" not in output
    assert answer["generated_text"].encode() not in output


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_process_is_small() -> None:
    with process({"SLIPWAY_LOCAL_ENGINE": "lmi", **LMI}) as container:
        ready_port(container)
        resident_pages = int(Path(f"/proc/{container.pid}/statm").read_text().split()[1])
    assert resident_pages * os.sysconf("SC_PAGE_SIZE") < 60e6
