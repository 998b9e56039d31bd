"""The model server as a process: the bodies of each family over real HTTP, its start and its end."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from local_cloud.model_server.contract.answer import EngineAnswer
from local_cloud.model_server.contract.server import ContainerServer
from local_cloud.model_server.text.catalog_row import row_of
from local_cloud.model_server.text.engine import TextEngine
from support.local_engines import local_engines
from support.pictures import data_url, png
from support.repository import ROOT

REGISTRY = "763104351884.dkr.ecr.us-west-2.amazonaws.com"
TGI = {
    "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/huggingface-pytorch-tgi-inference:2.1.1-tgi1.4.0-gpu-py310-cu121-ubuntu20.04",
    "HF_MODEL_ID": "openai-community/gpt2",
}
LMI = {
    "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130",
    "HF_MODEL_ID": "Qwen/Qwen3-4B",
    "OPTION_MAX_MODEL_LEN": "200",
    "OPTION_SERVED_MODEL_NAME": "Qwen/Qwen3-4B",
}
DEEPSPEED = {
    "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/djl-inference:0.27.0-deepspeed0.12.6-cu121",
    "HF_MODEL_ID": "facebook/opt-30b",
    "SERVING_ENGINE": "DeepSpeed",
    "OPTION_ENTRYPOINT": "djl_python.deepspeed",
}
T5 = {
    "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/djl-inference:0.24.0-fastertransformer5.3.0-cu118",
    "HF_MODEL_ID": "google/flan-t5-xxl",
    "SERVING_ENGINE": "FasterTransformer",
    "OPTION_ENTRYPOINT": "djl_python.fastertransformer",
}
HUGGING_FACE = {
    "SLIPWAY_LOCAL_IMAGE": (f"{REGISTRY}/huggingface-pytorch-inference:2.6.0-transformers4.51.3-cpu-py312-ubuntu22.04"),
    "HF_MODEL_ID": "openai-community/gpt2",
    "HF_TASK": "text-generation",
}
VLLM = {
    "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/vllm:0.30.0-gpu-py312-cu130-ubuntu24.04-sagemaker",
    "SM_VLLM_MODEL": "openai/gpt-oss-120b",
    "SM_VLLM_MAX_MODEL_LEN": "100",
}
OWN_HANDLER = """
from djl_python import Input, Output

def handle(inputs):
    return None if inputs.is_empty() else Output().add_as_json({"outputs": [inputs.get_as_json()["inputs"]]})
"""
PROMPT, LIMIT = "The list", {"parameters": {"max_new_tokens": 3}}
CHAT = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 3}


class Caller:
    """Posts bodies over one keep-alive connection."""

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
        env={"SAGEMAKER_BIND_TO_PORT": "0", "SLIPWAY_LOCAL_ENGINES": str(local_engines()), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as container:
        try:
            yield container
        finally:
            container.kill()


@contextmanager
def calling(environment: Mapping[str, str]) -> Iterator[Caller]:
    with process(environment) as container:
        caller = Caller(ready_port(container))
        yield caller
        caller.connection.close()


def ready_port(container: "subprocess.Popen[bytes]") -> int:
    assert container.stdout
    return int(container.stdout.readline().rpartition(b":")[2])


class Family(NamedTuple):
    """A family's environment, bodies with the shapes of answers, and refused bodies with status and shape."""

    environment: dict[str, str]
    answered: list[tuple[dict[str, Any], Any]]
    refused: list[tuple[Any, int, Any]]


TEXT, FULL_TEXT = {"generated_text": str}, {"generated_text": f"{PROMPT} "}
DETAILS = {"finish_reason": "length", "generated_tokens": 3, "seed": 0, "prefill": [], "tokens": []}
USAGE = {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
ENDING = {"logprobs": None, "finish_reason": "length", "stop_reason": None}
OBJECT = {"id": str, "created": int, "model": str, "usage": USAGE}
MESSAGE = {"role": "assistant", "content": str}
CHAT_ANSWER = {
    **OBJECT,
    "object": "chat.completion",
    "choices": [{"index": 0, "message": MESSAGE, **ENDING}],
}
COMPLETION = {**OBJECT, "object": "text_completion", "choices": [{"index": 0, "text": str, **ENDING}]}
TOO_MANY = {"inputs": PROMPT, "parameters": {"max_new_tokens": 50_000}}
UNPARSED = {"code": 424, "error": "Input parsing failed: "}
TOO_LONG = {"code": 500, "error": "error=ErrorInfo(message=\"This model's maximum context length is "}
NO_SUCH_MODEL = "The model `lmi` does not exist."
UNKNOWN_MODEL = {
    "code": 500,
    "error": f"error=ErrorInfo(message='{NO_SUCH_MODEL}', type='NotFoundError', param='model'",
}
WITHOUT_REASON = {"code": 424, "message": "Async Inference Failure", "properties": {}, "content": {}}
HANDLER_ERROR = {"code": 424, "message": "prediction failure", "error": str}
TOOLKIT_ERROR = {"code": 400, "type": "InternalServerException", "message": str}
OPENAI_ERROR = {"error": {"message": str, "type": "BadRequestError", "param": None, "code": 400}}
UNKNOWN = {"type": "NotFoundError", "param": "model", "code": 404}
TGI_ERROR = {"error": str, "error_type": "validation"}
FAMILIES = {
    "tgi": Family(
        TGI,
        [
            ({"inputs": PROMPT, **LIMIT}, [TEXT]),
            ({"inputs": PROMPT, "parameters": {"max_new_tokens": 3, "return_full_text": True}}, [FULL_TEXT]),
            ({"inputs": PROMPT, "parameters": {"max_new_tokens": 3, "details": True}}, [{**TEXT, "details": DETAILS}]),
        ],
        [
            (TOO_MANY, 422, TGI_ERROR),
            ({"inputs": "word " * 1025}, 422, TGI_ERROR),
            ({"inputs": [PROMPT]}, 422, TGI_ERROR),
            (CHAT, 422, TGI_ERROR),
        ],
    ),
    "lmi": Family(
        LMI,
        [
            ({"inputs": PROMPT, **LIMIT}, TEXT),
            ({"inputs": [PROMPT, "A"], **LIMIT}, [TEXT, TEXT]),
            (CHAT, CHAT_ANSWER),
            ({**CHAT, "model": "Qwen/Qwen3-4B"}, {**CHAT_ANSWER, "model": "Qwen/Qwen3-4B"}),
            ({"prompt": PROMPT, "max_tokens": 3}, COMPLETION),
        ],
        [
            (TOO_MANY, 500, TOO_LONG),
            ({"inputs": PROMPT, "parameters": {"max_new_tokens": 0}}, 500, {"code": 500, "error": "error=ErrorInfo("}),
            ({"inputs": 5}, 424, UNPARSED),
            ({"text": PROMPT}, 424, UNPARSED),
            ({**CHAT, "max_tokens": 201}, 500, TOO_LONG),
            ({**CHAT, "model": "lmi"}, 500, UNKNOWN_MODEL),
        ],
    ),
    "lmi-25": Family(
        {**LMI, "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/djl-inference:0.36.0-lmi25.0.0-cu130"},
        [({**CHAT, "model": "Qwen/Qwen3-4B"}, CHAT_ANSWER)],
        [(TOO_MANY, 424, WITHOUT_REASON), ({**CHAT, "max_tokens": 201}, 500, TOO_LONG)],
    ),
    "lmi-15": Family(
        {
            "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/djl-inference:0.33.0-lmi15.0.0-cu128",
            "HF_MODEL_ID": "Qwen/Qwen3-4B",
            "OPTION_MAX_MODEL_LEN": "200",
        },
        [({**CHAT, "model": "lmi"}, CHAT_ANSWER)],
        [
            ({**CHAT, "max_tokens": 201}, 400, {"code": 400, "error": str}),
            ({**CHAT, "model": "Qwen/Qwen3-4B"}, 404, {"code": 404, "error": "The model `Qwen/Qwen3-4B` does not"}),
        ],
    ),
    "lmi-14": Family(
        {"SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/djl-inference:0.32.0-lmi14.0.0-cu126", "HF_MODEL_ID": "Qwen/Qwen3-4B"},
        [({**CHAT, "model": "any name"}, CHAT_ANSWER)],
        [({"inputs": 5}, 424, {"code": 424, "error": "Input Parsing failed. "})],
    ),
    "deepspeed": Family(
        DEEPSPEED,
        [
            ({"inputs": PROMPT, **LIMIT}, [FULL_TEXT]),
            ({"inputs": [PROMPT, PROMPT], "parameters": {"max_length": 8}, "padding": True}, [FULL_TEXT, FULL_TEXT]),
        ],
        [(TOO_MANY, 424, HANDLER_ERROR), ({"inputs": "a", "parameters": {"max_length": 1}}, 424, HANDLER_ERROR)],
    ),
    "fastertransformer": Family(
        T5,
        [({"inputs": [PROMPT, "A"], "parameters": {"max_seq_len": 3}}, [TEXT, TEXT])],
        [(CHAT, 424, HANDLER_ERROR)],
    ),
    "huggingface": Family(
        HUGGING_FACE,
        [
            ({"inputs": PROMPT, **LIMIT}, [FULL_TEXT]),
            ({"inputs": [PROMPT, PROMPT], **LIMIT}, [[FULL_TEXT], [FULL_TEXT]]),
            ({"inputs": PROMPT, "parameters": {"return_full_text": False}}, [TEXT]),
        ],
        [({"inputs": PROMPT, "parameters": {"max_new_tokens": "many"}}, 400, TOOLKIT_ERROR), ([], 400, TOOLKIT_ERROR)],
    ),
    "huggingface-t5": Family(
        {**HUGGING_FACE, "HF_TASK": "text2text-generation"}, [({"inputs": [PROMPT, "A"]}, [TEXT, TEXT])], []
    ),
    "vllm": Family(
        VLLM,
        [({**CHAT, "model": "openai/gpt-oss-120b"}, CHAT_ANSWER), ({"prompt": PROMPT, "max_tokens": 3}, COMPLETION)],
        [
            ({"inputs": PROMPT}, 400, OPENAI_ERROR),
            ({**CHAT, "max_tokens": 101}, 400, OPENAI_ERROR),
            ({"messages": []}, 400, OPENAI_ERROR),
            ({**CHAT, "model": "gpt-4"}, 404, {"error": {**UNKNOWN, "message": "The model `gpt-4` does not exist."}}),
        ],
    ),
    "unknown": Family({}, [({"inputs": PROMPT, **LIMIT}, TEXT), (CHAT, CHAT_ANSWER)], [(TOO_MANY, 500, TOO_LONG)]),
}


def assert_fits(found: Any, shape: Any) -> None:
    """Compare members and lengths; in the shape, a type stands for any value of it, a text for a beginning."""
    if isinstance(shape, type):
        assert isinstance(found, shape)
    elif isinstance(shape, dict):
        assert set(found) == set(shape)
        for name, each in shape.items():
            assert_fits(found[name], each)
    elif isinstance(shape, list):
        assert len(found) == len(shape)
        for one, each in zip(found, shape, strict=True):
            assert_fits(one, each)
    elif isinstance(shape, str):
        assert found.startswith(shape)
    else:
        assert found == shape


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_answers_and_refuses_in_its_own_shape(name: str) -> None:
    family = FAMILIES[name]
    with calling(family.environment) as caller:
        for body, shape in family.answered:
            status, answer = caller.post(body)
            assert status == 200, answer
            assert_fits(answer, shape)
        for refused, expected, shape in family.refused:
            status, answer = caller.post(refused)
            assert status == expected, answer
            assert_fits(answer, shape)


def test_a_seed_a_stop_sequence_and_a_number_of_choices_have_their_effect() -> None:
    with calling(VLLM) as caller:

        def texts(**more: Any) -> list[str]:
            answer = caller.post({**CHAT, "max_tokens": 9, **more})[1]
            return [choice["message"]["content"] for choice in answer["choices"]]

        first, second = texts(n=2, seed=4)
        assert [first] == texts(seed=4)
        assert [second] == texts(seed=5) != [first]
        word = first.split()[5]
        assert texts(seed=4, stop=word) == [first.partition(word)[0].strip()]


def test_a_serving_properties_wins_over_the_environment(tmp_path: Path) -> None:
    (tmp_path / "serving.properties").write_text("engine=Python\noption.model_id=gpt2\noption.n_positions=8\n")
    image = f"{REGISTRY}/djl-inference:0.24.0-neuronx-sdk2.14.1"
    environment = {"SLIPWAY_LOCAL_IMAGE": image, "OPTION_N_POSITIONS": "512", "SLIPWAY_LOCAL_MODEL_DIR": str(tmp_path)}
    with calling(environment) as caller:
        assert caller.post({"inputs": "a", "parameters": {"max_length": 8}})[0] == 200
        status, answer = caller.post({"inputs": "a", "parameters": {"max_length": 9}})
        assert (status, "maximum context length is 8 tokens" in answer["error"]) == (424, True)


def test_a_handler_in_the_model_data_is_run(tmp_path: Path) -> None:
    (tmp_path / "serving.properties").write_text("engine=Python\n")
    (tmp_path / "model.py").write_text(OWN_HANDLER)
    with calling(
        {"SLIPWAY_LOCAL_IMAGE": LMI["SLIPWAY_LOCAL_IMAGE"], "SLIPWAY_LOCAL_MODEL_DIR": str(tmp_path)}
    ) as caller:
        assert caller.post({"inputs": "Hello"}) == (200, {"outputs": ["Hello"]})


def test_one_connection_serves_pings_and_invocations() -> None:
    with calling(LMI) as caller:
        caller.connection.connect()
        socket = caller.connection.sock
        assert [caller.get("/ping"), caller.get("/other"), caller.post({"inputs": "a"})[0]] == [200, 404, 200]
        assert caller.connection.sock is socket


class HeldEngine(TextEngine):
    """An engine that answers when the test releases it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(row_of(environment["SLIPWAY_LOCAL_IMAGE"], environment, local_engines()), environment, None)
        self.asked, self.released = threading.Event(), threading.Event()

    def answer(self, raw: bytes, adapter: str = "") -> EngineAnswer:
        self.asked.set()
        self.released.wait(60)
        return super().answer(raw, adapter)


@pytest.mark.parametrize(
    ("environment", "status", "shape"),
    [
        ({**LMI, "SERVING_JOB_QUEUE_SIZE": "1"}, 503, {"code": 503, "error": str}),
        ({**TGI, "MAX_CONCURRENT_REQUESTS": "1"}, 429, {"error": str, "error_type": "overloaded"}),
    ],
)
def test_a_request_above_the_limit_is_refused(environment: dict[str, str], status: int, shape: Any) -> None:
    engine, body = HeldEngine(environment), json.dumps({"inputs": PROMPT}).encode()
    with ContainerServer(0, engine, 0) as server, ThreadPoolExecutor() as callers:
        first = callers.submit(server.answer, body)
        assert engine.asked.wait(60)
        refused = server.answer(body)
        engine.released.set()
        assert [first.result(60).status, refused.status, server.answer(body).status] == [200, status, 200]
    assert_fits(json.loads(refused.body), shape)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({**TGI, "HF_MODEL_ID": ""}, b"no model: HF_MODEL_ID must be set"),
        ({**TGI, "HF_MODEL_ID": "/opt/ml/model"}, b"or /opt/ml/model must hold one"),
        ({**TGI, "HF_MODEL_ID": "openai/no such model"}, b"is no id of a repository on the Hub"),
        ({**VLLM, "SM_VLLM_MODEL": ""}, b"no model: SM_VLLM_MODEL must be set"),
        ({**TGI, "MAX_INPUT_LENGTH": "2048"}, b"`max_input_length` must be < `max_total_tokens`"),
        ({**LMI, "SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "soon"}, b"SLIPWAY_LOCAL_SECONDS_PER_TOKEN"),
    ],
)
def test_a_wrong_environment_ends_the_container(environment: dict[str, str], message: bytes) -> None:
    with process(environment) as container:
        assert container.stderr
        errors = container.stderr.read()
        assert container.wait(timeout=60) == 1
        assert message in errors.splitlines()[-1]


def test_tokens_take_the_time_they_are_told() -> None:
    with calling({**LMI, "SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "0.1"}) as caller:
        ready = time.perf_counter()
        caller.post({"inputs": "Hello", "parameters": {"max_new_tokens": 3}})
        assert time.perf_counter() - ready >= 0.3


def test_the_container_ends_with_its_parent() -> None:
    with process(LMI) as container:
        ready_port(container)
        assert container.stdin
        container.stdin.close()
        assert container.wait(timeout=60) == 0


def test_the_container_ends_well_on_sigterm() -> None:
    with process(TGI) as container:
        ready_port(container)
        container.send_signal(signal.SIGTERM)
        assert container.wait(timeout=60) == 0


def test_the_log_has_a_line_for_each_invocation_but_no_text_of_it() -> None:
    with process(LMI) as container:
        caller = Caller(ready_port(container))
        answer = caller.post({"inputs": "a secret xyzzy", "parameters": {"max_new_tokens": 2}})[1]
        caller.connection.close()
        output, errors = container.communicate(timeout=60)
    assert output.startswith(b"POST /invocations 200 2 tokens")
    assert errors == b""
    assert b"xyzzy" not in output
    assert answer["generated_text"].encode() not in output


SGLANG = {
    "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/sglang:0.5.5-gpu-py312-cu129-ubuntu22.04-sagemaker",
    "SM_SGLANG_MODEL_PATH": "m",
}
OBJECTS = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"enum": [3]}}}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": OBJECTS}}


def streamed(environment: Mapping[str, str], body: object) -> tuple[str, str]:
    """The content type and the text of a streamed answer."""
    with calling(environment) as caller:
        caller.connection.request("POST", "/invocations", json.dumps(body))
        response = caller.connection.getresponse()
        return response.headers["Content-Type"], response.read().decode()


@pytest.mark.parametrize(
    ("environment", "content_type", "before", "end"),
    [
        (LMI, "application/jsonlines", "", "\n"),
        (VLLM, "text/event-stream", "data: ", "data: [DONE]\n\n"),
        (SGLANG, "text/event-stream", "data: ", "data: [DONE]\n\n"),
    ],
)
def test_a_chat_is_streamed_in_the_words_of_its_engine(
    environment: dict[str, str], content_type: str, before: str, end: str
) -> None:
    found_type, text = streamed(environment, {**CHAT, "stream": True, "stream_options": {"include_usage": True}})
    assert (found_type, text.endswith(f"\n{end}")) == (content_type, True)
    lines = [line.removeprefix(before) for line in text.removesuffix(end).splitlines() if line]
    *chunks, last = [json.loads(line) for line in lines]
    assert (last["choices"], last["usage"]) == ([], USAGE)
    deltas = [each["choices"][0]["delta"] for each in chunks]
    assert (deltas[0], deltas[-1]) == ({"role": "assistant", "content": ""}, {})
    assert [each["choices"][0]["finish_reason"] for each in chunks] == [None] * 4 + ["length"]
    assert len("".join(each["content"] for each in deltas[1:-1]).split()) == 3


@pytest.mark.parametrize("environment", [LMI, TGI])
def test_the_tokens_of_inputs_end_with_the_whole_text(environment: dict[str, str]) -> None:
    _, text = streamed(environment, {"inputs": PROMPT, "parameters": {"max_new_tokens": 3}, "stream": True})
    *tokens, last = [json.loads(line.removeprefix("data:")) for line in text.splitlines() if line]
    texts = [each["token"]["text"] for each in [*tokens, last]]
    assert last["generated_text"] == "".join(texts)
    assert (len(texts), any(each.get("generated_text") for each in tokens)) == (3, False)


NEW_TGI = {
    **TGI,
    "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/huggingface-pytorch-tgi-inference:2.7.0-tgi3.3.6-gpu-py311-cu124-ubuntu22.04",
    "HF_MODEL_ID": "m",
}
OTHER_TOOL = {"type": "function", "function": {"name": "time", "parameters": {"type": "object"}}}


def chunks_of(environment: Mapping[str, str], body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The only choice of each chunk of a streamed chat."""
    lines = streamed(environment, {**body, "stream": True})[1].splitlines()
    objects = [line.removeprefix("data:") for line in lines if line and "[DONE]" not in line]
    return [json.loads(each)["choices"][0] for each in objects]


@pytest.mark.parametrize(
    ("environment", "reason"),
    [(VLLM, "tool_calls"), (LMI, "tool_calls"), (SGLANG, "tool_calls"), (NEW_TGI, "stop")],
)
def test_a_forced_tool_is_called_with_arguments_that_fit(environment: dict[str, str], reason: str) -> None:
    forced = {**CHAT, "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "weather"}}}
    with calling(environment) as caller:
        choice = caller.post(forced)[1]["choices"][0]
    (call,) = choice["message"]["tool_calls"]
    assert (choice["finish_reason"], json.loads(call["function"]["arguments"])) == (reason, {"city": "text", "days": 3})
    chunks = chunks_of(environment, forced)
    deltas = [each["function"] for chunk in chunks for each in chunk["delta"].get("tool_calls", ())]
    assert "".join(each.get("arguments", "") for each in deltas) == call["function"]["arguments"]
    assert [each["name"] for each in deltas if each.get("name")] == ["weather"]
    assert chunks[-1]["finish_reason"] == reason


def test_a_choice_without_its_tool_is_refused() -> None:
    forced = {**CHAT, "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}}
    with calling(VLLM) as caller:
        assert caller.post(forced)[0] == 400
        assert caller.post({**forced, "tools": []})[0] == 400


@pytest.mark.parametrize("function", [{"name": -0.5}, {"name": None}, {"name": "f", "parameters": {"$ref": 1}}, {}, 1])
def test_a_tool_that_is_no_function_is_refused(function: object) -> None:
    with calling(VLLM) as caller:
        assert caller.post({**CHAT, "tools": [{"type": "function", "function": function}]})[0] == 400


def said(text: str, *tools: object) -> dict[str, Any]:
    return {**CHAT, "messages": [{"role": "user", "content": text}], "tools": tools}


def test_tools_that_the_user_names_are_called_with_the_arguments_after_the_name() -> None:
    with calling(VLLM) as caller:
        both = caller.post(said('Call weather {"city": "Rome"}, then time.', TOOL, OTHER_TOOL))[1]["choices"][0]
        calls = [each["function"] for each in both["message"]["tool_calls"]]
        assert [(each["name"], json.loads(each["arguments"])) for each in calls] == [
            ("weather", {"city": "Rome"}),
            ("time", {}),
        ]
        for asked in (
            said("What is the weathercock?", TOOL),
            {**said("Call weather", TOOL), "tool_choice": "none"},
        ):
            assert "tool_calls" not in caller.post(asked)[1]["choices"][0]["message"]
    indices = [
        call["index"]
        for each in chunks_of(VLLM, said("weather time", TOOL, OTHER_TOOL))
        for call in each["delta"].get("tool_calls", ())
    ]
    assert set(indices) == {0, 1}
    with calling(NEW_TGI) as caller:
        assert len(caller.post(said("weather time", TOOL, OTHER_TOOL))[1]["choices"][0]["message"]["tool_calls"]) == 1


def test_the_answer_to_a_tool_s_output_quotes_it() -> None:
    asked = said("Call weather", TOOL)
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    results = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny, 22"},
    ]
    with calling(VLLM) as caller:
        message = caller.post({**asked, "messages": [*asked["messages"], *results]})[1]["choices"][0]["message"]
    assert message["content"].startswith("sunny, 22 ")


@pytest.mark.parametrize(("environment", "name"), [(VLLM, "reasoning"), (SGLANG, "reasoning_content"), (NEW_TGI, None)])
def test_an_asked_effort_gives_reasoning_before_the_answer(environment: dict[str, str], name: str | None) -> None:
    asked = {**CHAT, "max_tokens": 12, "reasoning_effort": "low"}
    with calling(environment) as caller:
        message = caller.post(asked)[1]["choices"][0]["message"]
    members = [next(iter(each["delta"])) for each in chunks_of(environment, asked)[1:-1]]
    if not name:
        assert set(members) == {"content"}
        return
    assert len(message[name].split()) + len(message["content"].split()) == 12
    assert members == [name] * 8 + ["content"] * 4


def test_tgi_takes_a_schema_in_a_form_of_its_own() -> None:
    openai_form = {"type": "json_schema", "json_schema": {"name": "n", "schema": OBJECTS}}
    with calling(NEW_TGI) as caller:
        assert caller.post({**CHAT, "response_format": openai_form})[0] == 422
        form = {"type": "json", "value": OBJECTS}
        content = caller.post({**CHAT, "response_format": form})[1]["choices"][0]["message"]["content"]
        assert json.loads(content) == {"city": "text", "days": 3}
        assert caller.post({**CHAT, "response_format": form, "tools": [TOOL]})[0] == 422


def test_response_formats_and_logprobs_have_their_effect() -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": OBJECTS}}
    with calling(VLLM) as caller:
        choice = caller.post({**CHAT, "response_format": schema, "logprobs": True})[1]["choices"][0]
    content = choice["message"]["content"]
    assert (json.loads(content), choice["finish_reason"]) == ({"city": "text", "days": 3}, "stop")
    assert "".join(each["token"] for each in choice["logprobs"]["content"]) == content


def test_pictures_and_ids_of_tokens_are_prompts_too() -> None:
    parts = [{"type": "text", "text": PROMPT}, {"type": "image_url", "image_url": {"url": data_url(png(640, 480))}}]
    with calling(VLLM | {"SM_VLLM_MODEL": "Qwen/Qwen3-VL-4B-Instruct", "SM_VLLM_MAX_MODEL_LEN": "999"}) as caller:
        status, answer = caller.post({"messages": [{"role": "user", "content": parts}], "max_tokens": 6})
        assert (status, answer["usage"]["prompt_tokens"] > 300) == (200, True)
        assert answer["choices"][0]["message"]["content"].startswith("The image is 640x480.")
        assert caller.post({**CHAT, "messages": [{"role": "user", "content": [{"type": "image_url"}]}]})[0] == 400
        status, one = caller.post({"prompt": [1, 2, 3], "max_tokens": 3})
        assert (status, one["usage"]["prompt_tokens"], len(one["choices"])) == (200, 3, 1)
        assert len(caller.post({"prompt": [[1, 2], [3]], "max_tokens": 3})[1]["choices"]) == 2
    with calling(TGI) as caller:
        assert caller.post({"prompt": [1, 2, 3], "max_tokens": 3})[0] == 422


def test_a_model_without_a_chat_template_has_no_chats() -> None:
    plain = {**VLLM, "SM_VLLM_MODEL": "openai-community/gpt2", "SM_VLLM_MAX_MODEL_LEN": "100"}
    with calling(plain) as caller:
        status, refusal = caller.post(CHAT)
        assert (status, "chat template" in refusal["error"]["message"]) == (400, True)
        assert caller.post({"prompt": PROMPT, "max_tokens": 3})[0] == 200
    with calling({**plain, "SM_VLLM_CHAT_TEMPLATE": "/opt/ml/model/chat.jinja"}) as caller:
        assert caller.post(CHAT)[0] == 200
