"""Turns a text into a request for a deployment's engine, and the engine's answer into text."""

import base64
import mimetypes
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any


def request_body(
    text: str,
    bodies: Collection[str],
    *,
    max_tokens: int | None,
    chat: bool = False,
    images: Sequence[Path] = (),
) -> dict[str, Any]:
    """Make the body of a request.

    bodies: the fields in which the engine takes a prompt. max_tokens: the limit of the answer; None = the deployment's
    default. images: files that a chat shows. Raises OSError for one that can't be read. Without images, the default is
    `inputs` if the engine takes it, because a chat needs a model with a chat template.
    """
    body: dict[str, Any]
    if "messages" in bodies and (chat or images or "inputs" not in bodies):
        content = [*map(_image, images), {"type": "text", "text": text}] if images else text
        body = {"messages": [{"role": "user", "content": content}]}
        return body | ({"max_tokens": max_tokens} if max_tokens else {})
    if "query" in bodies:  # a model that scores texts; engines read one of the two lists
        return {"query": text, "documents": [text], "texts": [text]}
    if "input" in bodies:
        return {"input": text}
    body = {"inputs": text}
    return body | ({"parameters": {"max_new_tokens": max_tokens}} if max_tokens else {})


def _image(file: Path) -> dict[str, Any]:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"  # the API looks at the bytes
    url = f"data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def text_of(answer: Any) -> str:
    """Return the generated text of an answer in any engine's shape, without surrounding white space.

    Empty for vectors and scores.
    """
    while isinstance(answer, list | dict) and answer:
        known = ("generated_text", "outputs", "choices", "message", "content", "text")
        answer = answer[0] if isinstance(answer, list) else next((answer[name] for name in known if name in answer), "")
    return str(answer).strip() if not isinstance(answer, int | float) else ""  # a number of a vector is no text
