"""Reads a request for text from any of the three kinds of body: `inputs`, `messages`, `prompt`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local_cloud.model_server.contract.answer import RefusedError, json_object
from local_cloud.model_server.text.pictures import urls_in
from local_cloud.model_server.text.source import Prompt

# The engines' names for the most tokens of an answer.
MEDIA = ("image_url", "input_audio", "video_url")
LIMITS = ("max_new_tokens", "max_seq_len", "max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class TextRequest:
    """A request for text, independent of the kind of body.

    body: the member that holds the prompts.
    model: the value of `model` in the body, unchecked.
    is_list: whether the prompts came as a list; the answer is then one, too.
    most_tokens: the limit of the answer; None = no limit.
    most_tokens_in_all: the limit of prompt and answer together; None = no limit.
    copies: the number of texts for each prompt.
    is_streamed: whether the answer comes token by token.
    parameters: all parameters; some change the form of an answer.
    messages: the chat, with a text as the content of each message.
    pictures: the addresses of the chat's pictures.
    """

    body: str
    model: Any
    prompts: tuple[str, ...]
    is_list: bool
    most_tokens: int | None
    most_tokens_in_all: int | None
    stop: tuple[str, ...]
    seed: int | None
    copies: int
    is_streamed: bool
    parameters: Mapping[str, Any]
    messages: tuple[Mapping[str, str], ...] = ()
    pictures: tuple[str, ...] = ()

    def each_prompt(self) -> Iterator[Prompt]:
        """Every prompt once, without a limit."""
        for text in self.prompts:
            yield Prompt(text, self.body, self.messages, None, self.stop, self.seed, 0, self.parameters)

    @property
    def is_echoed(self) -> bool:
        """Whether a completion begins with its prompt; it may then add nothing to it."""
        return self.body == "prompt" and self.parameters.get("echo") is True


def read_request(raw: bytes, bodies: tuple[str, ...], *, takes_ids: bool = False) -> TextRequest:
    """Read a body of one of these kinds; raises RefusedError. takes_ids: whether a prompt may be token ids."""
    content = json_object(raw)
    kind = next((name for name in bodies if name in content), None)
    if kind is None:
        raise RefusedError(f"the body needs {' or '.join(bodies)}")
    messages = _messages(content[kind]) if kind == "messages" else ()
    # The texts of a chat in order, one on each line.
    prompts = "\n".join(each["content"] for each in messages) if kind == "messages" else content[kind]
    parameters = content if kind != "inputs" else content.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise RefusedError("parameters must be an object")
    if takes_ids and kind == "prompt":
        prompts = _without_ids(prompts)
    texts = _texts(kind, prompts if isinstance(prompts, list) else [prompts])
    if not texts:
        raise RefusedError(f"{kind} must hold at least one text")
    stop = parameters.get("stop", parameters.get("stop_sequences")) or []
    limit = next((name for name in LIMITS if parameters.get(name) is not None), LIMITS[0])
    return TextRequest(
        body=kind,
        model=content.get("model"),
        prompts=texts,
        is_list=isinstance(prompts, list),
        most_tokens=_number(parameters, limit),
        most_tokens_in_all=_number(parameters, "max_length"),
        stop=_texts("stop", [stop] if isinstance(stop, str) else stop),
        seed=_number(parameters, "seed"),
        copies=max(_number(parameters, "n") or 1, 1),
        is_streamed=bool(content.get("stream") or parameters.get("stream")),
        parameters=parameters,
        messages=messages,
        pictures=tuple(urls_in(content.get("messages"))),
    )


def _without_ids(prompts: Any) -> Any:
    """Replace token ids, or lists of them, by texts with the same number of words."""
    if not isinstance(prompts, list) or not prompts:
        return prompts
    if all(isinstance(each, int) for each in prompts):
        return " ".join(map(str, prompts))
    return [_without_ids(each) for each in prompts]


def _messages(given: Any) -> tuple[Mapping[str, str], ...]:
    if not isinstance(given, list) or not given:
        raise RefusedError("messages must be a list with at least one message")
    return tuple(map(_message, given))


def _message(message: Any) -> Mapping[str, str]:
    """The role and the content as one text."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise RefusedError("each message must be an object with a role")
    match message.get("content") or "":
        case str() as text:
            return {"role": message["role"], "content": text}
        case list() as parts if all(isinstance(part, dict) for part in parts):
            return {"role": message["role"], "content": " ".join(map(_part, parts))}
    raise RefusedError("the content of a message must be text, or a list of parts")


def _part(part: dict[str, Any]) -> str:
    """The text of a message's part; a picture, sound or video counts as one word."""
    kind = part.get("type")
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if kind in MEDIA and part.get(kind):
        return f"({kind})"
    raise RefusedError(f"a part of a message must have text, or be one of {', '.join(MEDIA)}")


def _texts(name: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise RefusedError(f"{name} must be a text or a list of texts")
    return tuple(given)


def _number(parameters: Mapping[str, Any], name: str) -> int | None:
    given = parameters.get(name)
    if given is not None and (not isinstance(given, int) or isinstance(given, bool)):
        raise RefusedError(f"{name}: {given!r} is not a whole number")
    return given
