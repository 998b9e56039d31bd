"""Writes OpenAI's objects: a chat completion for `messages`, a text completion for `prompt`."""

import itertools
import time
import uuid
from dataclasses import replace
from typing import Any

from local_cloud.model_server.text.generator import Generation, count_tokens, tokens_of
from local_cloud.model_server.text.request import TextRequest
from local_cloud.model_server.text.structured import document, forced_call


def completion(request: TextRequest, generations: list[Generation], model: str) -> dict[str, Any]:
    """The object for the request; `generations` holds all copies for the first prompt, then for the next."""
    is_chat = request.body == "messages"
    prompt_tokens = sum(map(count_tokens, request.prompts))
    completion_tokens = sum(generation.tokens for generation in generations)
    if request.is_echoed:
        generations = [
            replace(each, text=request.prompts[index * len(request.prompts) // len(generations)] + each.text.rstrip())
            for index, each in enumerate(generations)
        ]
    return {
        "id": f"{'chatcmpl' if is_chat else 'cmpl'}-{uuid.uuid4().hex}",
        "object": "chat.completion" if is_chat else "text_completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {"index": index, **_content(request, generation), "stop_reason": generation.stop}
            for index, generation in enumerate(generations)
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _content(request: TextRequest, generation: Generation) -> dict[str, Any]:
    if request.body != "messages":
        logprobs = _text_logprobs(generation.text) if request.parameters.get("logprobs") is not None else None
        return {"text": generation.text, "logprobs": logprobs, "finish_reason": _reason(generation)}
    if call := forced_call(request.parameters):
        tool_call = {"id": f"call_{uuid.uuid4().hex}", "type": "function", "function": call}
        message = {"role": "assistant", "content": None, "tool_calls": [tool_call]}
        return {"message": message, "logprobs": None, "finish_reason": "tool_calls"}
    text = generation.text.strip()
    whole = document(request.parameters, text)
    logprobs = _chat_logprobs(whole or text) if request.parameters.get("logprobs") else None
    message = {"role": "assistant", "content": whole or text}
    reason = "stop" if whole else _reason(generation)  # unlike a text, a document is always complete
    return {"message": message, "logprobs": logprobs, "finish_reason": reason}


def _reason(generation: Generation) -> str:
    return "stop" if generation.complete or generation.stop is not None else "length"


def _chat_logprobs(text: str) -> dict[str, Any]:
    tokens = tokens_of(text)
    return {
        "content": [{"token": each, "logprob": -0.5, "bytes": [*each.encode()], "top_logprobs": []} for each in tokens]
    }


def _text_logprobs(text: str) -> dict[str, Any]:
    tokens = tokens_of(text)
    offsets = [0, *itertools.accumulate(map(len, tokens))][: len(tokens)]
    likelihoods = {"token_logprobs": [-0.5] * len(tokens), "top_logprobs": [{each: -0.5} for each in tokens]}
    return {"tokens": tokens, "text_offset": offsets, **likelihoods}
