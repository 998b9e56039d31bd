"""OpenAI's objects: a chat completion for `messages`, a text completion for `prompt`."""

import time
import uuid
from typing import Any

from local_cloud.model_server.text_generator import Generation, count_tokens
from local_cloud.model_server.text_request import TextRequest


def completion(request: TextRequest, generations: list[Generation], model: str) -> dict[str, Any]:
    """The object for the request; `generations` holds all copies of the first prompt, then of the next."""
    is_chat = request.body == "messages"
    prompt_tokens = sum(map(count_tokens, request.prompts))
    completion_tokens = sum(generation.tokens for generation in generations)
    return {
        "id": f"{'chatcmpl' if is_chat else 'cmpl'}-{uuid.uuid4().hex}",
        "object": "chat.completion" if is_chat else "text_completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {"index": index, **(_message(generation) if is_chat else {"text": generation.text}), **_ending(generation)}
            for index, generation in enumerate(generations)
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _message(generation: Generation) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": generation.text.strip()}}


def _ending(generation: Generation) -> dict[str, Any]:
    ended = generation.complete or generation.stop is not None
    return {"logprobs": None, "finish_reason": "stop" if ended else "length", "stop_reason": generation.stop}
