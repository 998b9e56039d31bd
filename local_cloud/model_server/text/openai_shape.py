"""Writes OpenAI's objects: a chat completion for `messages`, a text completion for `prompt`."""

import itertools
import time
import uuid
from collections.abc import Sequence
from typing import Any

from local_cloud.model_server.text.chat_form import VLLM_CHATS, ChatForm
from local_cloud.model_server.text.generator import tokens_of
from local_cloud.model_server.text.request import TextRequest
from local_cloud.model_server.text.source import Generation
from local_cloud.model_server.text.structured import document


def completion(
    request: TextRequest, generations: Sequence[Generation], model: str, form: ChatForm = VLLM_CHATS
) -> dict[str, Any]:
    """The object for the request; `generations` holds all copies for the first prompt, then for the next."""
    choices = [
        {"index": index, **_content(request, index, generation, form), "stop_reason": generation.stop}
        for index, generation in enumerate(generations)
    ]
    return {**head(request, model), "choices": choices, "usage": usage(request, generations)}


def head(request: TextRequest, model: str) -> dict[str, Any]:
    """The members before the choices."""
    is_chat = request.body == "messages"
    return {
        "id": f"{'chatcmpl' if is_chat else 'cmpl'}-{uuid.uuid4().hex}",
        "object": "chat.completion" if is_chat else "text_completion",
        "created": int(time.time()),
        "model": model,
    }


def usage(request: TextRequest, generations: Sequence[Generation]) -> dict[str, int]:
    """The tokens of all prompts and answers; a prompt counts once, however many answers it has."""
    prompt = sum(each.prompt_tokens for each in generations[:: request.copies])
    answers = sum(each.tokens for each in generations)
    return {"prompt_tokens": prompt, "completion_tokens": answers, "total_tokens": prompt + answers}


def echo(request: TextRequest, index: int) -> str:
    """The text before the choice with this index: its prompt, if the request wants it."""
    return request.prompts[index // request.copies] if request.is_echoed else ""


def document_of(request: TextRequest, generation: Generation) -> str | None:
    """The JSON document that a chat demands; None for plain text. Raises EngineRefusedError."""
    return document(request.parameters, lambda: generation.text) if request.body == "messages" else None


def reason_of(generation: Generation) -> str:
    """Why a text ended."""
    return "stop" if generation.complete or generation.stop is not None else "length"


def logprobs_of(request: TextRequest, text: str, generation: Generation) -> dict[str, Any] | None:
    """The log probabilities of a text's tokens, if the request wants them and they are known."""
    wanted, known = request.parameters.get("logprobs"), generation.logprob
    if known is None or wanted is None or (request.body == "messages" and not wanted):
        return None
    tokens = tokens_of(text)
    if request.body == "messages":
        return {
            "content": [
                {"token": each, "logprob": known, "bytes": [*each.encode()], "top_logprobs": []} for each in tokens
            ]
        }
    offsets = [0, *itertools.accumulate(map(len, tokens))][: len(tokens)]
    likelihoods = {"token_logprobs": [known] * len(tokens), "top_logprobs": [{each: known} for each in tokens]}
    return {"tokens": tokens, "text_offset": offsets, **likelihoods}


def _content(request: TextRequest, index: int, generation: Generation, form: ChatForm) -> dict[str, Any]:
    reason = reason_of(generation)
    if request.body != "messages":
        echoed = echo(request, index)
        text = echoed + generation.text.rstrip() if echoed else generation.text
        return {"text": text, "logprobs": logprobs_of(request, text, generation), "finish_reason": reason}
    if calls := form.calls(request.parameters, request.messages):
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        return {"message": message, "logprobs": None, "finish_reason": form.reason}
    whole = document_of(request, generation)
    text = generation.text if whole is None else whole
    message = {"role": "assistant", "content": text}
    if whole is None and (count := form.reasoning_tokens(request.parameters)):
        tokens = tokens_of(text)
        message = {"role": "assistant", form.reasoning: "".join(tokens[:count]), "content": "".join(tokens[count:])}
    # Unlike a text, a document is always complete.
    reason = reason if whole is None else "stop"
    return {"message": message, "logprobs": logprobs_of(request, text, generation), "finish_reason": reason}
