"""The model server keeps DJL Serving's contract with handlers: calls, properties, statuses, ends."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_cloud.model_server.djl.own_handler import OwnHandler, handler_folder
from support.served_handlers import ask, environment_of, unpack

OWN = """
from djl_python import Input, Output
import os
asked = []
def handle(inputs):
    if inputs.is_empty():
        asked.append(inputs.get_properties())
        return None
    request = inputs.get_as_json()
    {body}
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., OwnHandler]]:
    """A function that serves a handler with this code."""
    engines = []

    def serve(body: str, properties: dict[str, str] | None = None, **variables: str) -> OwnHandler:
        source = tmp_path / "source"
        source.mkdir()
        (source / "model.py").write_text(OWN.format(body=body))
        folder = unpack(source, properties or {}, tmp_path / "model")
        engines.append(OwnHandler(environment_of(folder, tmp_path / "tmp", **variables), folder))
        return engines[0]

    yield serve
    for engine in engines:
        engine.stop()


def test_properties_come_from_the_archive_then_from_the_environment(own: Callable[..., OwnHandler]) -> None:
    engine = own(
        "return Output().add_as_json(asked[0])",
        {"engine": "Python", "option.dtype": "fp16", "batch_size": "1"},
        OPTION_DTYPE="fp32",
        OPTION_MAX_TOKENS="9",
        HF_MODEL_ID="gpt2",
        TENSOR_PARALLEL_DEGREE="2",
    )
    properties = ask(engine, {})[1]
    given = ("engine", "dtype", "batch_size", "max_tokens", "model_id", "tensor_parallel_degree")
    assert [properties[name] for name in given] == ["Python", "fp16", "1", "9", "gpt2", "2"]
    assert os.path.isfile(Path(properties["model_dir"]) / "model.py")


def test_a_request_has_its_headers_as_properties_and_not_the_model_s(own: Callable[..., OwnHandler]) -> None:
    engine = own("return Output().add_as_json(sorted(inputs.get_properties()))", {"option.dtype": "fp16"})
    assert ask(engine, {})[1] == ["Content-Type", "model_dir"]


@pytest.mark.parametrize(
    ("body", "status", "content"),
    [
        ("return Output().add('plain').add_property('Content-Type', 'text/plain')", 200, b"plain"),
        ("return Output(code=418, message='no').add_as_json({'a': 1})", 418, b'{\n  "a":1\n}'),
        ("return Output().error('too long', code=413)", 413, b"too long"),
        ("return 'a text'", 424, b"Invalid output type: <class 'str'>"),
        ("raise MemoryError('full')", 507, b"full"),
        ("raise KeyError('missing')", 424, b"missing"),
    ],
)
def test_the_output_of_a_handler_is_the_response(
    own: Callable[..., OwnHandler], body: str, status: int, content: bytes
) -> None:
    answer = own(body).answer(b"{}")
    assert (answer.status, content in answer.body) == (status, True)


def test_a_rank_that_dies_fails_its_request_and_is_started_again(own: Callable[..., OwnHandler]) -> None:
    properties = {"engine": "MPI", "option.tensor_parallel_degree": "2"}
    engine = own("os._exit(3) if request.get('die') else None; return Output().add_as_json(request)", properties)
    status, answer = ask(engine, {"die": True})
    assert (status, answer["message"]) == (500, "Python worker disconnected.")
    assert ask(engine, {"alive": True}) == (200, {"alive": True})


def test_a_handler_that_takes_too_long_is_given_up(own: Callable[..., OwnHandler]) -> None:
    engine = own("import time; time.sleep(60)", {"option.predict_timeout": "1"})
    assert ask(engine, {}) == (
        500,
        {"code": 500, "type": "EngineException", "message": "no answer within 1 s"},
    )


def test_ranks_end_with_their_server_even_while_one_waits_for_the_others(own: Callable[..., OwnHandler]) -> None:
    body = "import torch.distributed as dist; dist.init_process_group(); os.environ['RANK'] == '0' or dist.barrier()"
    engine = own(f"{body}; return None", {"engine": "MPI", "option.tensor_parallel_degree": "2"})
    assert engine._ranks
    processes = engine._ranks.processes
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(ask, engine, {})
        with pytest.raises(TimeoutError):
            answer.result(0.5)
        for process in processes:
            assert process.stdin
            process.stdin.close()
        for process in processes:
            process.wait(60)
        assert answer.result(60)[0] == 500


@pytest.mark.parametrize(
    ("variables", "runs"),
    [({}, True), ({"OPTION_ENTRYPOINT": "model.py"}, True), ({"OPTION_ENTRYPOINT": "djl_python.huggingface"}, False)],
)
def test_a_built_in_handler_in_the_settings_wins_over_a_model_py(
    variables: dict[str, str], runs: bool, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text("")
    assert (handler_folder({"SLIPWAY_LOCAL_MODEL_DIR": str(tmp_path), **variables}) is not None) == runs


def test_without_a_model_py_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "serving.properties").write_text("engine=Python")
    assert handler_folder({"SLIPWAY_LOCAL_MODEL_DIR": str(tmp_path)}) is None
    assert handler_folder({}) is None
