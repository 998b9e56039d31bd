"""Chat and text completions in the shape that vLLM and newer TGI versions share."""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from local_cloud.model_server.answer import Answer, Kind, RefusedError, WrongTypeError, json_answer, read_fields
from local_cloud.model_server.language_model import Generation, LanguageModel, Sampling, count_tokens

SAMPLING_FIELDS: dict[str, Kind] = {
    "temperature": "float",
    "top_k": "int",
    "top_p": "float",
    "repetition_penalty": "float",
    "seed": "int",
}
REQUEST_FIELDS: dict[str, Kind] = {
    **SAMPLING_FIELDS,
    "model": "string",
    "max_tokens": "int",
    "max_completion_tokens": "int",
    "n": "unsigned",
    "echo": "bool",
    "stream": "bool",
}
# vLLM's default for text completions; a chat answer has no limit but the context.
COMPLETION_TOKENS = 16

# (sampling fields, prompt tokens, wanted tokens or None) -> None; raises RefusedError.
Check = Callable[[Mapping[str, Any], int, int | None], None]


def sampling_of(fields: Mapping[str, Any], max_new_tokens: int | None, stop: tuple[str, ...]) -> Sampling:
    """The sampling that the given fields ask for, with the language model's defaults for the others."""
    given = {name: fields[name] for name in SAMPLING_FIELDS if name in fields}
    return Sampling(max_new_tokens=max_new_tokens, stop=stop, **given)


def read_stop(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The stop sequences; OpenAI takes one string or a list."""
    if isinstance(given.get("stop"), str):
        return (given["stop"],)
    stop: tuple[str, ...] = read_fields(given, {"stop": "strings"}).get("stop", ())
    if "" in stop:
        raise RefusedError(400, "stop cannot contain an empty string.")
    return stop


@dataclass(frozen=True)
class OpenAiApi:
    """Answers OpenAI bodies; an engine gives the name it serves and its own rules."""

    model: LanguageModel
    served_name: str
    check: Check

    def chat(self, body: Mapping[str, Any]) -> Answer:
        """A chat completion, continuing the text of the conversation."""
        fields = read_fields(body, REQUEST_FIELDS)
        prompt = _conversation(body["messages"])
        wanted = fields.get("max_completion_tokens", fields.get("max_tokens"))
        generations = self._generate([prompt], body, fields, wanted)
        choices = [
            {"index": index, "message": _assistant(generation), **_ending(generation)}
            for index, generation in enumerate(generations)
        ]
        return self._answer("chat.completion", "chatcmpl", choices, [prompt], generations)

    def completion(self, body: Mapping[str, Any]) -> Answer:
        """A text completion, with one choice per prompt where `prompt` is a list."""
        fields = read_fields(body, REQUEST_FIELDS)
        prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        if not prompts or not isinstance(prompts, list) or not all(isinstance(prompt, str) for prompt in prompts):
            raise WrongTypeError("prompt", body["prompt"], "strings")
        generations = self._generate(prompts, body, fields, fields.get("max_tokens", COMPLETION_TOKENS))
        echo = prompts if fields.get("echo") else [""] * len(prompts)
        per_prompt = len(generations) // len(prompts)
        choices = [
            {"index": index, "text": echo[index // per_prompt] + generation.text, **_ending(generation)}
            for index, generation in enumerate(generations)
        ]
        return self._answer("text_completion", "cmpl", choices, prompts, generations)

    def _generate(
        self, prompts: list[str], body: Mapping[str, Any], fields: Mapping[str, Any], wanted: int | None
    ) -> list[Generation]:
        if fields.get("model", self.served_name) != self.served_name:
            raise RefusedError(404, f"The model `{fields['model']}` does not exist.")
        if fields.get("stream"):
            raise RefusedError(400, "stream is not available on the local model server.")
        copies = fields.get("n", 1)
        if copies < 1:
            raise RefusedError(400, f"n must be at least 1, got {copies}.")
        stop = read_stop(body)
        for prompt in prompts:
            self.check(fields, count_tokens(prompt), wanted)
        seeds = [fields["seed"] + copy if "seed" in fields else None for copy in range(copies)]
        return [
            self.model.generate(prompt, sampling_of({**fields, "seed": seed}, wanted, stop))
            for prompt in prompts
            for seed in seeds
        ]

    def _answer(
        self,
        kind: str,
        prefix: str,
        choices: list[dict[str, Any]],
        prompts: list[str],
        generations: list[Generation],
    ) -> Answer:
        prompt_tokens = sum(count_tokens(prompt) for prompt in prompts)
        completion_tokens = sum(generation.generated_tokens for generation in generations)
        body = {
            "id": f"{prefix}-{uuid.uuid4().hex}",
            "object": kind,
            "created": int(time.time()),
            "model": self.served_name,
            "choices": choices,
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        }
        return json_answer(200, body, steps=max(generation.generated_tokens for generation in generations))


def _assistant(generation: Generation) -> dict[str, str]:
    return {"role": "assistant", "content": generation.text.strip()}


def _ending(generation: Generation) -> dict[str, Any]:
    reason = "length" if generation.finish == "length" else "stop"
    return {"logprobs": None, "finish_reason": reason, "stop_reason": generation.stop}


def _conversation(messages: Any) -> str:
    """The texts of a conversation in order, one per line."""
    if not isinstance(messages, list) or not messages:
        raise RefusedError(400, "messages must be a list with at least one message.")
    return "\n".join(_text(message) for message in messages)


def _text(message: Any) -> str:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise RefusedError(400, "each message must be an object with a role.")
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    match content:
        case list() if all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in content):
            return " ".join(part["text"] for part in content)
    raise RefusedError(400, "the content of a message must be text.")
