"""Turns a text into a request for a deployment's engine, and the engine's answer into text."""

from collections.abc import Collection
from typing import Any


def request_body(text: str, bodies: Collection[str], *, max_tokens: int | None, chat: bool = False) -> dict[str, Any]:
    """Make the body of a request.

    bodies: the fields in which the engine takes a prompt. max_tokens: the limit of the answer; None = the deployment's
    default. The default is `inputs` if the engine takes it, because a chat needs a model with a chat template.
    """
    if "messages" in bodies and (chat or "inputs" not in bodies):
        body: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
        return body | ({"max_tokens": max_tokens} if max_tokens else {})
    body = {"inputs": text}
    return body | ({"parameters": {"max_new_tokens": max_tokens}} if max_tokens else {})


def text_of(answer: Any) -> str:
    """Return the generated text of an answer in any engine's shape, without surrounding white space."""
    while isinstance(answer, list | dict) and answer:
        known = ("generated_text", "outputs", "choices", "message", "content", "text")
        answer = answer[0] if isinstance(answer, list) else next((answer[name] for name in known if name in answer), "")
    return str(answer).strip()
