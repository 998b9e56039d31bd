"""An LMI container (17 or newer, vLLM async): its environment, its three request shapes and its errors.

Shapes: deepjavalibrary/djl-serving, lmi_vllm/vllm_async_service.py and request_response_utils.py; error bodies:
Request.java of its Python engine; texts of refusals: vllm/sampling_params.py. One difference is wanted: a list of
`inputs` gets an answer per prompt, as LMI's dynamic batching gives, where that service returns the first one alone.
"""

from collections.abc import Mapping
from typing import Any

from local_cloud.model_server.answer import (
    Answer,
    Kind,
    RefusedError,
    StartError,
    WrongTypeError,
    json_answer,
    parse_json,
    read_fields,
)
from local_cloud.model_server.language_model import Generation, LanguageModel, count_tokens
from local_cloud.model_server.openai_api import SAMPLING_FIELDS, OpenAiApi, read_stop, sampling_of
from local_cloud.model_server.weights import has_weights

DEFAULT_NEW_TOKENS = 30
PARAMETERS: dict[str, Kind] = {
    **SAMPLING_FIELDS,
    "max_new_tokens": "int",
    "do_sample": "bool",
    "return_full_text": "bool",
    "details": "bool",
}
# The context of Qwen3-4B, which the default deployment serves; a real engine reads it from the model.
DEFAULT_CONTEXT_TOKENS = 40960


class Lmi:
    """Answers invocations as LMI's vLLM service does."""

    def __init__(self, environment: Mapping[str, str], model: LanguageModel) -> None:
        if not (environment.get("HF_MODEL_ID") or environment.get("OPTION_MODEL_ID") or has_weights(environment)):
            raise StartError("ModelNotFoundException: no model: HF_MODEL_ID is not set and /opt/ml/model is empty")
        self.most_concurrent_requests = int(environment.get("SERVING_JOB_QUEUE_SIZE", "1000"))
        self._context_tokens = _max_model_len(environment)
        self._model = model
        self._api = OpenAiApi(model, environment.get("OPTION_SERVED_MODEL_NAME") or "lmi", self._check)

    def refuse_overload(self) -> Answer:
        """What a request beyond `most_concurrent_requests` gets: the front end's queue is full."""
        return _error(503, "Worker queue capacity exceeded for model: model.")

    def answer(self, raw: bytes) -> Answer:
        """The answer to one body; `prompt` wins over `inputs`, `inputs` over `messages`, as in the container."""
        try:
            body = parse_json(raw)
            if isinstance(body, dict) and "prompt" in body:
                return self._api.completion(body)
            if isinstance(body, dict) and "inputs" in body:
                return self._generate(body)
            if isinstance(body, dict) and "messages" in body:
                return self._api.chat(body)
            raise ValueError("invalid payload. must contain prompt, inputs, or messages")
        except RefusedError as refused:
            return _error(refused.status, refused.message)
        except ValueError as unreadable:
            return _error(424, f"Input parsing failed: {unreadable}")

    def _generate(self, body: Mapping[str, Any]) -> Answer:
        inputs, parameters = body["inputs"], body.get("parameters") or {}
        prompts = inputs if isinstance(inputs, list) else [inputs]
        if not prompts or not all(isinstance(prompt, str) for prompt in prompts):
            raise WrongTypeError("inputs", inputs, "strings")
        if not isinstance(parameters, dict):
            raise ValueError("parameters must be an object")
        generations = self._generations(prompts, parameters, bool(body.get("stream")))
        outputs = [
            _output(prompt, generation, parameters) for prompt, generation in zip(prompts, generations, strict=True)
        ]
        steps = max(generation.generated_tokens for generation in generations)
        return json_answer(200, outputs if isinstance(inputs, list) else outputs[0], steps)

    def _generations(self, prompts: list[str], parameters: dict[str, Any], stream: bool) -> list[Generation]:
        fields = read_fields(parameters, PARAMETERS)
        if fields.get("do_sample") is False:
            fields["temperature"] = 0.0
        wanted = fields.get("max_new_tokens", DEFAULT_NEW_TOKENS)
        try:
            if stream:
                raise RefusedError(400, "stream is not available on the local model server.")
            for prompt in prompts:
                self._check(fields, count_tokens(prompt), wanted)
            sampling = sampling_of(fields, wanted, read_stop(parameters))
        except RefusedError as refused:
            # LMI turns every refusal by vLLM into its own failure on this path.
            raise RefusedError(424, refused.message) from refused
        return [self._model.generate(prompt, sampling) for prompt in prompts]

    def _check(self, fields: Mapping[str, Any], prompt_tokens: int, wanted: int | None) -> None:
        refusal = sampling_refusal(fields, wanted) or too_long(self._context_tokens, prompt_tokens, wanted)
        if refusal:
            raise RefusedError(400, refusal)


def sampling_refusal(fields: Mapping[str, Any], wanted: int | None) -> str | None:
    """Why vLLM refuses these sampling parameters; None when it takes them."""
    if fields.get("temperature", 1.0) < 0:
        return f"temperature must be non-negative, got {fields['temperature']}."
    if not 0 < fields.get("top_p", 1.0) <= 1:
        return f"top_p must be in (0, 1], got {fields['top_p']}."
    if fields.get("top_k", 0) < -1:
        return f"top_k must be 0 (disable), or at least 1, got {fields['top_k']}."
    if fields.get("repetition_penalty", 1.0) <= 0:
        return f"repetition_penalty must be greater than zero, got {fields['repetition_penalty']}."
    if wanted is not None and wanted < 1:
        return f"max_tokens must be at least 1, got {wanted}."
    return None


def too_long(context_tokens: int, prompt_tokens: int, wanted: int | None) -> str | None:
    """Why vLLM refuses this many tokens; None when prompt and answer fit into the context."""
    if prompt_tokens + (wanted or 1) <= context_tokens:
        return None
    return (
        f"This model's maximum context length is {context_tokens} tokens. However, you requested {wanted or 1} output "
        f"tokens and your prompt contains {prompt_tokens} input tokens. Please reduce the length of the input prompt "
        "or the number of requested output tokens."
    )


def _max_model_len(environment: Mapping[str, str]) -> int:
    given = environment.get("OPTION_MAX_MODEL_LEN", str(DEFAULT_CONTEXT_TOKENS))
    try:
        length = int(given)
    except ValueError:
        raise StartError(
            "ValidationError: 1 validation error for VllmRbProperties: max_model_len (OPTION_MAX_MODEL_LEN): "
            f"Input should be a valid integer, unable to parse string as an integer, input_value={given!r}"
        ) from None
    if length <= 0:
        raise StartError(
            "ValidationError: 1 validation error for ModelConfig: max_model_len (OPTION_MAX_MODEL_LEN): "
            f"Input should be greater than 0, input_value={length}"
        )
    return length


def _output(prompt: str, generation: Generation, parameters: Mapping[str, Any]) -> dict[str, Any]:
    text = prompt + generation.text if parameters.get("return_full_text") else generation.text
    if not parameters.get("details"):
        return {"generated_text": text}
    details: dict[str, Any] = {
        # LMI reports the stop sequence here, and null for a full length.
        "finish_reason": generation.stop,
        "generated_tokens": generation.generated_tokens,
        "seed": parameters.get("seed"),
        "prefill": [],
        "tokens": [],
    }
    return {"generated_text": text, "details": details}


def _error(code: int, message: str) -> Answer:
    return json_answer(code, {"code": code, "error": message})
