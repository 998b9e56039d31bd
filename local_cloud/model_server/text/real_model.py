"""The client of a real model, which runs in a process of its own (`local_cloud/real_model/worker.py`)."""

import http.client
import json
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from local_cloud.model_server.contract.answer import EngineFailedError, EngineRefusedError
from local_cloud.model_server.text import generator
from local_cloud.model_server.text.source import Generation, Piece, Prompt

_LENGTH = {"inputs": "max_new_tokens", "messages": "max_tokens", "prompt": "length"}
# The parameters of engines that the worker has, too; it would refuse others. `inputs` alone is greedy by default.
_PARAMETERS = {"inputs": ("do_sample",), "messages": ("chat_template_kwargs",), "prompt": ()}
_SAMPLING = ("temperature", "top_k", "top_p")


class RealModel:
    """Writes texts with the model at this URL. Raises EngineFailedError if nothing answers there."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url).netloc
        facts = json.load(self._ask("GET", "/model"))
        self.context: int = facts["context"]
        self.has_chat_template: bool = facts["chat_template"]

    def count_tokens(self, prompt: Prompt) -> int:
        count: int = json.load(self._ask("POST", "/count", _body(prompt)))
        return count

    def begin(self, prompts: Sequence[Prompt]) -> list[Generation]:
        if any(prompt.most_tokens == 0 for prompt in prompts):  # an echo alone is no work for a model
            return [generator.Generation("", 0, None, False, self.count_tokens(prompt)) for prompt in prompts]
        answers = _Answers(self._ask("POST", "/texts", [_body(prompt) for prompt in prompts]))
        return [RealGeneration(answers, place, count) for place, count in enumerate(answers.prompt_tokens)]

    def _ask(self, method: str, path: str, body: object = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self._address)
        try:
            connection.request(method, path, json.dumps(body).encode())
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise EngineFailedError(f"the model does not answer ({type(error).__name__})") from error
        if response.status == 400:
            raise EngineRefusedError(json.load(response)["error"])
        return response


class RealGeneration:
    """One answer as the model writes it."""

    logprob = None

    def __init__(self, answers: "_Answers", place: int, prompt_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens
        self._answers, self._place = answers, place
        self._texts: list[str] = []
        self._end: dict[str, Any] | None = None

    def pieces(self) -> Iterator[Piece]:
        while self._end is None:
            line = self._answers.next_line(self._place)
            self._texts.append(line["text"])
            if line["ended"]:
                self._end = line
            yield Piece(line["text"], bool(line["ended"]))

    @property
    def text(self) -> str:
        self._whole()
        return "".join(self._texts)

    @property
    def tokens(self) -> int:
        return int(self._whole()["tokens"])

    @property
    def stop(self) -> str | None:
        stop: str | None = self._whole()["stop"]
        return stop

    @property
    def complete(self) -> bool:
        return bool(self._whole()["ended"] == "stop" and self.stop is None)

    def _whole(self) -> dict[str, Any]:
        """The last line, after reading all others."""
        for _ in self.pieces():
            pass
        assert self._end
        return self._end


class _Answers:
    """The lines of one HTTP answer: each belongs to one text."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.prompt_tokens: list[int] = self._read()["prompt_tokens"]
        self._waiting: list[deque[dict[str, Any]]] = [deque() for _ in self.prompt_tokens]

    def next_line(self, place: int) -> dict[str, Any]:
        """The next line of the text with this number. Raises EngineFailedError."""
        while not self._waiting[place]:
            line = self._read()
            self._waiting[line["place"]].append(line)
        return self._waiting[place].popleft()

    def _read(self) -> dict[str, Any]:
        try:
            raw = self._response.readline()
        except (OSError, http.client.HTTPException):
            raw = b""
        line: dict[str, Any] = json.loads(raw) if raw else {"error": "the model's process has ended"}
        if "error" in line:
            raise EngineFailedError(line["error"])
        return line


def _body(prompt: Prompt) -> dict[str, Any]:
    """A body as the worker of `hosting.mode: ec2` takes it."""
    given = {name: prompt.parameters.get(name) for name in (*_SAMPLING, *_PARAMETERS[prompt.body])}
    given |= {_LENGTH[prompt.body]: prompt.most_tokens or None, "stop": list(prompt.stop)}
    given["seed"] = None if prompt.seed is None else prompt.seed + prompt.copy
    match prompt.body:
        case "inputs":
            return {"inputs": prompt.text, "parameters": given}
        case "messages":
            return {"messages": prompt.messages, **given}
    return {"prompt": prompt.text, **given}
