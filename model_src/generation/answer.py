"""Builds the answer to a request whose samples have ended, in the form that its body asks for."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from .language_model import LanguageModel
from .request import Request
from .rows import Row


def answer(request: Request, rows: Sequence[Row], model: LanguageModel) -> Any:
    """OpenAI's chat.completion for `messages`; else a list of samples, or one such list for each text of a list."""
    if request.form == "messages":
        return _chat_completion(rows, model.name)
    by_prompt = []
    for index, prompt in enumerate(request.prompts):
        own = rows[index * request.samples : (index + 1) * request.samples]
        before = prompt if request.full_text else ""
        by_prompt.append([{"generated_text": before + row.text} | _details(request, row) for row in own])
    return by_prompt if request.is_list else by_prompt[0]


def _details(request: Request, row: Row) -> dict[str, Any]:
    if not request.details:
        return {}
    counts = {"prompt_tokens": len(row.prompt), "generated_tokens": len(row.tokens)}
    return {"details": {"finish_reason": row.ended, **counts}}


def _chat_completion(rows: Sequence[Row], model_name: str) -> dict[str, Any]:
    prompt, completion = len(rows[0].prompt), sum(len(row.tokens) for row in rows)
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model_name,
        "choices": [
            {"index": index, "message": {"role": "assistant", "content": row.text}, "finish_reason": row.ended}
            for index, row in enumerate(rows)
        ],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }
