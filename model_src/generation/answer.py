"""The answer to a request, once its samples have ended: by the form of its body."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from .language_model import LanguageModel
from .request import Request
from .rows import Row


def answer(request: Request, rows: Sequence[Row], model: LanguageModel) -> Any:
    """For `inputs` and `prompt` an object for each sample, in a list for each text of a list; else a chat.completion."""
    if request.form == "messages":
        return _chat_completion(rows, model.name)
    by_prompt = [
        [
            {"generated_text": (prompt if request.full_text else "") + row.text}
            for row in rows[start : start + request.samples]
        ]
        for prompt, start in zip(request.prompts, range(0, len(rows), request.samples), strict=True)
    ]
    return by_prompt if request.is_list else by_prompt[0]


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
