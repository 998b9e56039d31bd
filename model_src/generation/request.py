"""Parses the body of POST /invocations: the prompt, the number of samples, how to draw them, where to stop."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

MOST_SAMPLES = 16
MOST_ANSWERS = 64
_MOST_TEMPERATURE = 100
_SMALLEST_TEMPERATURE = 1e-5  # logits divided by less would overflow; the most likely token is certain anyway
_FORMS = ("inputs", "prompt", "messages")
_IGNORED = {"model", "user"}  # OpenAI's clients send these


class RequestError(Exception):
    """An invalid request. The message, `field: problem`, is for the caller."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field


@dataclass(frozen=True)
class Sampling:
    """How to draw a token. temperature 0: always the most likely token. top_k 0: off. top_p 1: off."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


GREEDY = Sampling(temperature=0.0)


@dataclass(frozen=True)
class Request:
    """A valid request.

    form: the key that held the prompt. prompts: texts, or one list of messages. is_list: the answer is a list, too.
    length: the most tokens of an answer; None: the default for its form. seed: that of the first sample, the next has
    seed + 1; None: random. full_text: an answer begins with its prompt. details: an answer says how it ended and how
    many tokens it took.
    """

    form: str
    prompts: tuple[Any, ...]
    is_list: bool
    samples: int
    length: int | None
    sampling: Sampling
    seed: int | None
    stop: tuple[str, ...]
    full_text: bool
    details: bool
    template_arguments: Mapping[str, Any]


def parse(body: bytes, defaults: Sampling) -> Request:
    """The request in a body. defaults: used where a sampled request says nothing. Raises RequestError."""
    document = _document(body)
    form = _form(document)
    fields, prefix = dict(document), ""
    prompt = fields.pop(form)
    if form == "inputs":
        fields, prefix = _parameters(fields), "parameters."
    reader = _Reader(fields, prefix)
    request = Request(
        form=form,
        prompts=_messages(prompt) if form == "messages" else _texts(prompt, form),
        is_list=form != "messages" and isinstance(prompt, list),
        samples=reader.read(_whole(1, MOST_SAMPLES), *_NAMES_OF_SAMPLES[form]) or 1,
        length=reader.read(_whole(1), *_NAMES_OF_LENGTH[form]),
        sampling=_sampling(reader, form, defaults),
        seed=reader.read(_whole(0, 2**62), "seed"),
        stop=reader.read(_stop, *(("stop", "stop_sequences") if form == "inputs" else ("stop",))) or (),
        full_text=form == "inputs" and bool(reader.read(_flag, "return_full_text")),
        details=form == "inputs" and bool(reader.read(_flag, "details")),
        template_arguments=(reader.read(_arguments, "chat_template_kwargs") if form == "messages" else None) or {},
    )
    reader.demand_all_known(also=_IGNORED if form != "inputs" else set())
    if (answers := len(request.prompts) * request.samples) > MOST_ANSWERS:
        problem = f"its texts and samples ask for {answers} answers; send at most {MOST_ANSWERS} in one request"
        raise RequestError(form, problem)
    return request


_NAMES_OF_SAMPLES = {
    "inputs": ("num_return_sequences", "num_samples"),
    "prompt": ("num_samples",),
    "messages": ("n",),
}
_NAMES_OF_LENGTH = {
    "inputs": ("max_new_tokens",),
    "prompt": ("length",),
    "messages": ("max_tokens", "max_completion_tokens"),
}


class _Reader:
    """Takes fields out of a document by name; null counts as absent."""

    def __init__(self, fields: Mapping[str, Any], prefix: str) -> None:
        self._fields = {name: value for name, value in fields.items() if value is not None}
        self._prefix = prefix

    def read(self, check: Callable[[Any], Any], *names: str) -> Any:
        """The checked value of the field with one of these names; None if it is absent."""
        found = [name for name in names if name in self._fields]
        if len(found) > 1:
            raise RequestError(self._prefix + found[1], f"means the same as {found[0]}; send one of them")
        if not found:
            return None
        value = self._fields.pop(found[0])
        try:
            return check(value)
        except ValueError as error:
            raise RequestError(self._prefix + found[0], f"must be {error}, not {json.dumps(value)[:40]}") from None

    def demand_all_known(self, also: set[str]) -> None:
        if self._fields.get("stream") is False:
            del self._fields["stream"]
        if unknown := sorted(self._fields.keys() - also):
            raise RequestError(self._prefix + unknown[0], "this engine has no such parameter; remove it")


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body, parse_constant=_refuse_constant)
        json.dumps(document, ensure_ascii=False).encode()  # fails for half of a surrogate pair, as tokenizers do
    except (ValueError, RecursionError):
        raise RequestError("", "the body is not JSON") from None
    if not isinstance(document, dict):
        raise RequestError("", 'the body must be an object with "inputs", "prompt" or "messages"')
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _form(document: Mapping[str, Any]) -> str:
    found = [form for form in _FORMS if form in document]
    if len(found) != 1:
        raise RequestError(found[1] if found else "inputs", 'send one of "inputs", "prompt" and "messages"')
    return found[0]


def _parameters(fields: dict[str, Any]) -> dict[str, Any]:
    parameters = fields.pop("parameters", None)
    if parameters is not None and not isinstance(parameters, dict):
        raise RequestError("parameters", "must be an object")
    _Reader(fields, "").demand_all_known(also=_IGNORED)
    return parameters or {}


def _texts(value: Any, form: str) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise RequestError(form, "must be a text or a list of texts, none of them empty")
    return tuple(texts)


def _messages(value: Any) -> tuple[list[dict[str, Any]]]:
    if not isinstance(value, list) or not value:
        raise RequestError("messages", "must be a list of messages")
    for index, message in enumerate(value):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise RequestError(f"messages[{index}]", "must be an object with a role and its content")
    return ([{**message, "content": _content(message.get("content"), index)} for index, message in enumerate(value)],)


def _content(content: Any, index: int) -> str:
    """The content as one text: not all chat templates know OpenAI's list of parts."""
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        content = "".join(str(part.get("text")) for part in content)
    if not isinstance(content, str):
        raise RequestError(f"messages[{index}].content", "must be a text")
    return content


def _sampling(reader: _Reader, form: str, defaults: Sampling) -> Sampling:
    """How to draw tokens. As in transformers, `inputs` is greedy unless a field asks for samples; others sample."""
    wish = reader.read(_flag, "do_sample") if form == "inputs" else None
    temperature = reader.read(_number(0, _MOST_TEMPERATURE), "temperature")
    top_k = reader.read(_whole(), *(("top_k",) if form == "messages" else ("top_k", "top_n")))
    top_p = reader.read(_number(None, 1), "top_p")
    asked = form != "inputs" or wish or any(value is not None for value in (temperature, top_k, top_p))
    if temperature is None:
        temperature = defaults.temperature
    if not asked or wish is False or temperature < _SMALLEST_TEMPERATURE:
        return GREEDY
    top_k = defaults.top_k if top_k is None else max(top_k, 0)
    top_p = defaults.top_p if top_p is None else top_p
    return Sampling(float(temperature), top_k, float(top_p) if top_p > 0 else 1.0)


def _number(least: float | None = None, most: float | None = None) -> Callable[[Any], float]:
    return lambda value: _within(value, int | float, "a number", least, most)


def _whole(least: int | None = None, most: int | None = None) -> Callable[[Any], int]:
    return lambda value: _within(value, int, "a whole number", least, most)


def _within(value: Any, kind: Any, words: str, least: float | None, most: float | None) -> Any:
    if least is not None and most is not None:
        words += f" from {least} to {most}"
    elif least is not None or most is not None:
        words += f" of at least {least}" if most is None else f" of at most {most}"
    # Python counts true among the integers, and reads 1e999 as infinity.
    sound = isinstance(value, kind) and not isinstance(value, bool) and -math.inf < value < math.inf
    if not sound or (least is not None and value < least) or (most is not None and value > most):
        raise ValueError(words)
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _stop(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise ValueError("a text or a list of texts, none of them empty")
    return tuple(texts)


def _arguments(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(each, (bool, int, float, str)) for each in value.values()):
        raise ValueError("an object of flags, numbers and texts")
    return value
