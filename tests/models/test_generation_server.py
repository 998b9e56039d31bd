"""The container contract of `python -m generation`, over real HTTP with a tiny GPT-2."""

import http.client
import importlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from model_src.generation.batching import Batching, Pending
from model_src.generation.language_model import load
from model_src.generation.request import Request, Sampling
from model_src.generation.server import Server
from support.generation_servers import GenerationClient, GenerationServer, generation_server
from support.patience import PATIENCE_IN_SECONDS, wait_for

torch = importlib.import_module("torch")
transformers = importlib.import_module("transformers")

PROMPT = "The value of"


@pytest.fixture(scope="module")
def server(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GenerationServer]:
    home = tmp_path_factory.mktemp("home")
    (home / "model").symlink_to(weights)
    with generation_server(home) as server:
        yield server


def texts(server: GenerationServer, document: Any) -> list[str]:
    answer = server.generate(document)
    assert answer.status == 200, answer.document
    return [each["generated_text"] for each in answer.document]


def greedy(weights: Path, prompt: str, length: int) -> str:
    """Return the model's own greedy answer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights)
    model = transformers.AutoModelForCausalLM.from_pretrained(weights).eval()
    read = tokenizer(prompt, return_tensors="pt")
    written = model.generate(**read, do_sample=False, max_new_tokens=length, pad_token_id=0)
    text: str = tokenizer.decode(written[0, read["input_ids"].shape[1] :], skip_special_tokens=True)
    return text


def test_the_published_request_gets_its_samples(server: GenerationServer) -> None:
    document = {"prompt": PROMPT, "num_samples": 3, "length": 9, "temperature": 0.9, "top_p": 0.9, "top_n": 40}
    assert len(set(texts(server, {**document, "seed": 5}))) == 3
    assert texts(server, {**document, "seed": 5}) == texts(server, {**document, "seed": 5})
    assert texts(server, {**document, "seed": 6})[0] == texts(server, {**document, "seed": 5})[1]
    assert texts(server, document) != texts(server, document)


def test_inputs_are_greedy_unless_asked_otherwise(server: GenerationServer, weights: Path) -> None:
    assert texts(server, {"inputs": PROMPT, "parameters": {"max_new_tokens": 8}}) == [greedy(weights, PROMPT, 8)]
    full = {"max_new_tokens": 8, "return_full_text": True}
    assert texts(server, {"inputs": PROMPT, "parameters": full}) == [PROMPT + greedy(weights, PROMPT, 8)]


def test_a_list_of_inputs_gets_a_list_of_answers(server: GenerationServer, weights: Path) -> None:
    parameters = {"max_new_tokens": 6, "num_return_sequences": 2}
    answer = server.generate({"inputs": [PROMPT, "def"], "parameters": parameters})
    assert answer == (200, [[{"generated_text": greedy(weights, each, 6)}] * 2 for each in (PROMPT, "def")])


def test_details_say_how_a_sample_ended_and_count_its_tokens(server: GenerationServer, weights: Path) -> None:
    prompt = len(transformers.AutoTokenizer.from_pretrained(weights)(PROMPT)["input_ids"])
    stop = greedy(weights, PROMPT, 8)[:1]
    for more, reason, most in (({}, "length", 8), ({"stop": stop}, "stop", 7)):
        _, (answer,) = server.generate({"inputs": PROMPT, "parameters": {"max_new_tokens": 8, "details": True, **more}})
        details = answer["details"]
        assert (details["finish_reason"], details["prompt_tokens"]) == (reason, prompt)
        assert 0 < details["generated_tokens"] <= most


def test_messages_get_a_chat_completion(server: GenerationServer, weights: Path) -> None:
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    chat = {"messages": [{"role": "user", "content": parts}], "max_tokens": 7, "temperature": 0, "model": "any", "n": 2}
    status, document = server.generate(chat)
    said = greedy(weights, "<user>Hello\n<assistant>", 7)
    assert status == 200
    assert [choice["message"] for choice in document["choices"]] == [{"role": "assistant", "content": said}] * 2
    assert [choice["finish_reason"] for choice in document["choices"]] == ["length"] * 2
    assert (document["object"], document["model"]) == ("chat.completion", "tiny")
    assert document["usage"]["completion_tokens"] == 14


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"prompt": "a", "length": 64}, "prompt: 1 tokens and an answer of 64 are more than the 64"),
        ({"inputs": "class " * 80}, "inputs: "),
        ({"prompt": "a", "top_q": 1}, "top_q: this engine has no such parameter"),
        ({"inputs": "a", "parameters": {"temperature": -1}}, "parameters.temperature: must be a number from 0 to 100"),
        ({"messages": [{"role": "user", "content": 1}]}, "messages[0].content: "),
        (
            {"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": {"chat_template": "{{ 1 }}"}},
            "chat_template_kwargs.chat_template: ",
        ),
    ],
)
def test_a_bad_request_is_400_and_names_the_field(server: GenerationServer, document: Any, error: str) -> None:
    answer = server.generate(document)
    assert (answer.status, answer.document["error"][: len(error)]) == (400, error)
    assert answer.document["field"] == error.partition(":")[0]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/invocations", None, 404),
        ("POST", "/ping", b"{}", 404),
        ("PUT", "/invocations", b"{}", 501),
        ("POST", "/invocations", b"\xff{", 400),
        ("POST", "/invocations", b'{"prompt": NaN}', 400),
        ("POST", "/invocations", b'{"prompt": "\\ud800"}', 400),
        ("POST", "/invocations", b"", 400),
    ],
)
def test_malformed_http_gets_a_4xx_or_501(
    server: GenerationServer, method: str, path: str, body: bytes | None, status: int
) -> None:
    assert server.ask(method, path, body).status == status
    assert server.is_ready()


def test_a_body_of_unknown_or_absurd_length_is_not_read(server: GenerationServer) -> None:
    assert server.ask("POST", "/invocations", None, **{"Content-Length": "99999999999"}).status == 413
    assert server.ask("POST", "/invocations", None, **{"Transfer-Encoding": "chunked"}).status == 411


def test_no_prompt_reaches_the_log(server: GenerationServer) -> None:
    texts(server, {"prompt": "confidential", "length": 2})
    server.generate({"prompt": "confidential", "length": "confidential"})
    assert "1 requests, 1 samples, 2 tokens" in server.log
    assert "confidential" not in server.log


class HeldModel:
    """A model in this process that stands still in its first step until `go_on` is set.

    `works`: set once the first step has begun.
    `pending`: the submitted requests.
    """

    def __init__(self, weights: Path) -> None:
        self.model = load(weights, "tiny", None)
        self.works, self.go_on, self.pending = threading.Event(), threading.Event(), list[Pending]()
        self._forward = self.model.forward
        self.model.forward = self._held  # type: ignore[method-assign]

    def _held(self, tokens: Any, mask: Any, cache: Any) -> Any:
        self.works.set()
        assert self.go_on.wait(PATIENCE_IN_SECONDS)
        return self._forward(tokens, mask, cache)

    @contextmanager
    def served(self) -> Iterator[GenerationClient]:
        pending = self.pending

        class Watched(Batching):
            def submit(self, request: Request) -> Pending:
                pending.append(super().submit(request))
                return pending[-1]

        with served(Watched(self.model, 4, 10_000)) as client:
            yield client


@contextmanager
def served(batching: Batching | None) -> Iterator[GenerationClient]:
    """Run the server in this process and yield a client."""
    with Server(0) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        if batching:
            server.serve(batching, Sampling())
        yield GenerationClient(server.server_port)
        server.shutdown()


def test_requests_that_wait_are_answered_together_and_each_as_if_alone(
    weights: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents: list[dict[str, Any]] = [
        {"prompt": PROMPT, "length": 20, "num_samples": 2, "seed": 1},
        {"prompt": "def", "length": 5, "temperature": 0},
        {"inputs": "class", "parameters": {"top_k": 3, "max_new_tokens": 12, "seed": 9}},
        {"prompt": "An assignment", "length": 3, "top_p": 0.5, "seed": 2},
    ]
    held = HeldModel(weights)
    with held.served() as client, ThreadPoolExecutor(5) as pool, caplog.at_level("INFO"):
        first = pool.submit(client.generate, {"prompt": "a", "length": 1})
        assert held.works.wait(PATIENCE_IN_SECONDS)
        waiting = [pool.submit(client.generate, document) for document in documents]
        wait_for(lambda: len(held.pending) == 5 or None, "the requests to arrive")
        held.go_on.set()
        together = [each.result() for each in waiting]
        alone = [client.generate(document) for document in documents]
    assert first.result().status == 200
    assert together == alone
    assert {answer.status for answer in together} == {200}
    assert any(message.startswith("4 requests, 5 samples") for message in caplog.messages)


def test_the_model_stops_work_for_a_caller_that_hangs_up(weights: Path) -> None:
    held = HeldModel(weights)
    with held.served() as client:
        caller = http.client.HTTPConnection("127.0.0.1", client.port)
        caller.request("POST", "/invocations", b'{"prompt": "a", "length": 60}')
        assert held.works.wait(PATIENCE_IN_SECONDS)
        caller.close()
        [row] = held.pending[0].rows
        wait_for(lambda: None if row.is_wanted() else True, "the server to see it")
        held.go_on.set()
        assert held.pending[0].done.wait(PATIENCE_IN_SECONDS)
    assert len(row.tokens) == 1


def test_a_model_that_fails_is_500_and_the_next_request_is_answered(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(weights, "tiny", None)
    forward, failures = model.forward, iter([ValueError("confidential")])

    def failing(*arguments: Any) -> Any:
        for failure in failures:
            raise failure
        return forward(*arguments)

    monkeypatch.setattr(model, "forward", failing)
    with served(Batching(model, 4, 10_000)) as client:
        assert client.generate({"prompt": "a"}) == (500, {"error": "the model failed: ValueError"})
        assert client.generate({"prompt": "a"}).status == 200


def test_before_the_model_is_loaded_everything_is_503() -> None:
    with served(None) as client:
        assert (client.ask("GET", "/ping").status, client.generate({"prompt": "a"}).status) == (503, 503)
