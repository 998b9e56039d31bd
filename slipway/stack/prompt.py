"""Turns a text into a request in the shape of a deployment's engine, and an answer into its text."""

from collections.abc import Collection
from typing import Any


def request_body(text: str, bodies: Collection[str], *, max_tokens: int | None, chat: bool = False) -> dict[str, Any]:
    """The body of a request.

    bodies: the prompts that the engine takes. max_tokens: of the answer; None = the deployment's default. `inputs`
    works with every model of an engine that takes it; a chat needs a model with a chat template.
    """
    if "messages" in bodies and (chat or "inputs" not in bodies):
        body: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
        return body | ({"max_tokens": max_tokens} if max_tokens else {})
    body = {"inputs": text}
    return body | ({"parameters": {"max_new_tokens": max_tokens}} if max_tokens else {})


def text_of(answer: Any) -> str:
    """The generated text of an answer in any engine's shape, without surrounding white space."""
    while isinstance(answer, list | dict) and answer:
        known = ("generated_text", "outputs", "choices", "message", "content", "text")
        answer = answer[0] if isinstance(answer, list) else next((answer[name] for name in known if name in answer), "")
    return str(answer).strip()
