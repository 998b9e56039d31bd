"""AWS's and Hugging Face's SGLang containers: their model, their /invocations and SGLang's errors.

Sources: aws/deep-learning-containers scripts/docker/sglang/sagemaker_entrypoint.sh (the model is
SM_SGLANG_MODEL_PATH, else /opt/ml/model; HF_MODEL_ID is not read); sgl-project/sglang entrypoints/http_server.py
(/invocations takes chats only), entrypoints/openai/serving_base.py (the error), sampling/sampling_params.py and
managers/tokenizer_manager.py (refusals).
"""

from collections.abc import Mapping
from typing import Any

from local_cloud.model_server.answer import Answer, RefusedError, StartError, WrongTypeError, json_answer, parse_json
from local_cloud.model_server.language_model import LanguageModel
from local_cloud.model_server.lmi import DEFAULT_CONTEXT_TOKENS
from local_cloud.model_server.openai_api import OpenAiApi
from local_cloud.model_server.server_flags import ServerFlags
from local_cloud.model_server.weights import has_weights


class SglangServer:
    """Answers invocations as SGLang's server does; any model name in a body is served."""

    most_concurrent_requests = 10_000

    def __init__(self, environment: Mapping[str, str], model: LanguageModel) -> None:
        flags = ServerFlags(environment, "SM_SGLANG_", "launch_server.py")
        path = flags.text("MODEL_PATH", "MODEL") or "/opt/ml/model"
        if path == "/opt/ml/model" and not has_weights(environment):
            raise StartError("OSError: /opt/ml/model does not appear to have a file named config.json.")
        flags.number("TP", "TP_SIZE", "TENSOR_PARALLEL_SIZE", default=1)
        self._context_tokens = flags.number("CONTEXT_LENGTH", default=DEFAULT_CONTEXT_TOKENS)
        self._api = OpenAiApi(model, flags.text("SERVED_MODEL_NAME") or path, self._check)

    def refuse_overload(self) -> Answer:
        """Nothing is refused before `most_concurrent_requests`, which stands for no limit."""
        return _error(503, "The request queue is full.")

    def answer(self, raw: bytes) -> Answer:
        """The answer to one chat."""
        try:
            body = parse_json(raw)
            if not isinstance(body, dict) or "messages" not in body:
                raise ValueError("1 validation errors:\n  {'loc': ('body', 'messages'), 'msg': 'Field required'}")
            return self._api.chat({name: value for name, value in body.items() if name != "model"})
        except WrongTypeError as wrong:
            wanted = f"{{'loc': ('body', '{wrong.field}'), 'msg': 'Input should be a valid {wrong.kind}'}}"
            return _error(400, f"1 validation errors:\n  {wanted}")
        except RefusedError as refused:
            return _error(refused.status, refused.message)
        except ValueError as unreadable:
            return _error(400, str(unreadable))

    def _check(self, fields: Mapping[str, Any], prompt_tokens: int, wanted: int | None) -> None:
        if refusal := _sampling_refusal(fields, wanted):
            raise RefusedError(400, refusal)
        if prompt_tokens >= self._context_tokens:
            raise RefusedError(
                400,
                f"The input ({prompt_tokens} tokens) is longer than the model's context length ({self._context_tokens} "
                "tokens).",
            )
        total = prompt_tokens + (wanted or 0)
        if total > self._context_tokens:
            raise RefusedError(
                400,
                f"Requested token count exceeds the model's maximum context length of {self._context_tokens} tokens. "
                f"You requested a total of {total} tokens: {prompt_tokens} tokens from the input messages and {wanted} "
                "tokens for the completion. Please reduce the number of tokens in the input messages or the completion "
                "to fit within the limit.",
            )


def _sampling_refusal(fields: Mapping[str, Any], wanted: int | None) -> str | None:
    if fields.get("temperature", 1.0) < 0:
        return f"temperature must be non-negative, got {fields['temperature']}."
    if not 0 < fields.get("top_p", 1.0) <= 1:
        return f"top_p must be in (0, 1], got {fields['top_p']}."
    if (top_k := fields.get("top_k", -1)) < 1 and top_k != -1:
        return f"top_k must be -1 (disable), or at least 1, got {top_k}."
    if not 0 < fields.get("repetition_penalty", 1.0) <= 2:
        return f"repetition_penalty must be in (0, 2], got {fields['repetition_penalty']}."
    if wanted is not None and wanted < 0:
        return f"max_new_tokens must be at least 0, got {wanted}."
    return None


def _error(code: int, message: str) -> Answer:
    kind = "BadRequestError" if code == 400 else "InternalServerError"
    return json_answer(code, {"object": "error", "message": message, "type": kind, "param": None, "code": code})
