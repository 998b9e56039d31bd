"""LMI with a rolling batch (vLLM, lmi-dist, TensorRT-LLM, ...): its request shapes, its answers and its errors.

Source: deepjavalibrary/djl-serving djl_python: input_parser.py (a body that cannot be read is a 424),
output_formatter.py (the answer is one object, an array of one with `tgi_compat`), rolling_batch/rolling_batch.py
(an engine that refuses a request ends it with the finish reason "error", inside an HTTP 200),
rolling_batch/vllm_rolling_batch.py (30 new tokens by default; the likeliest token unless `do_sample`, from 0.32 on
unless a temperature is given), chat_completions (since 0.28), rolling_batch/trtllm_rolling_batch.py (128 new tokens
by default in 0.25 and 0.26).
"""

from collections.abc import Mapping
from typing import Any

from local_cloud.model_server.answer import (
    Answer,
    Kind,
    RefusedError,
    json_answer,
    parse_json,
    read_fields,
)
from local_cloud.model_server.djl_settings import version_of, whole_number
from local_cloud.model_server.language_model import Generation, LanguageModel, count_tokens
from local_cloud.model_server.lmi import DEFAULT_CONTEXT_TOKENS, sampling_refusal, too_long
from local_cloud.model_server.openai_api import SAMPLING_FIELDS, OpenAiApi, read_stop, sampling_of

CHATS_SINCE = (0, 28)
TEMPERATURE_SUFFICES_SINCE = (0, 32)
NEW_TOKENS, EARLY_TRT_TOKENS = 30, 128
PARAMETERS: dict[str, Kind] = {
    **SAMPLING_FIELDS,
    "max_new_tokens": "int",
    "do_sample": "bool",
    "return_full_text": "bool",
    "details": "bool",
}
FINISH_REASONS = {"length": "length", "stop": "eos_token", "end": "eos_token"}


class RollingBatchHandler:
    """Answers invocations as LMI's rolling batch does: one prompt each, many at once."""

    def __init__(self, settings: Mapping[str, str], model: LanguageModel, *, backend: str) -> None:
        self._version = version_of(settings)
        self.most_concurrent_requests = whole_number(settings, "SERVING_JOB_QUEUE_SIZE", 1000)
        length = "OPTION_N_POSITIONS" if backend == "neuronx" else "OPTION_MAX_MODEL_LEN"
        self._context_tokens = whole_number(settings, length, DEFAULT_CONTEXT_TOKENS)
        self._new_tokens = EARLY_TRT_TOKENS if backend == "trtllm" and self._version < (0, 27) else NEW_TOKENS
        self._tgi_compat = settings.get("OPTION_TGI_COMPAT") == "true"
        self._model = model
        self._api = OpenAiApi(model, "lmi", self._check)

    def refuse_overload(self) -> Answer:
        """What a request beyond `most_concurrent_requests` gets: the front end's queue is full."""
        return _error(503, "Worker queue capacity exceeded for model: model.")

    def answer(self, raw: bytes) -> Answer:
        """The answer to one body; `messages` are a chat since 0.28, everything else needs `inputs`."""
        try:
            body = parse_json(raw)
            if isinstance(body, dict) and "messages" in body and self._version >= CHATS_SINCE:
                return self._api.chat({name: value for name, value in body.items() if name != "model"})
            prompt, parameters, fields = _read(body)
        except RefusedError as refused:
            return _error(424, refused.message)
        except ValueError as unreadable:
            return _error(424, f"Input Parsing failed. Ensure that the request payload is valid. {unreadable}")
        return self._generate(prompt, parameters, fields)

    def _generate(self, prompt: str, parameters: Mapping[str, Any], fields: dict[str, Any]) -> Answer:
        wanted = fields.get("max_new_tokens", self._new_tokens)
        if self._is_greedy(fields):
            fields["temperature"] = 0.0
        try:
            self._check(fields, count_tokens(prompt), wanted)
            sampling = sampling_of(fields, wanted, read_stop({"stop": _stop(parameters)}))
        except (RefusedError, ValueError):
            return self._formatted({"generated_text": "", "details": {"finish_reason": "error"}}, 0)
        generation = self._model.generate(prompt, sampling)
        return self._formatted(self._output(prompt, generation, fields), generation.generated_tokens)

    def _output(self, prompt: str, generation: Generation, fields: Mapping[str, Any]) -> dict[str, Any]:
        text = prompt + generation.text if fields.get("return_full_text") else generation.text
        if not fields.get("details", self._tgi_compat):
            return {"generated_text": text}
        details = {
            "finish_reason": FINISH_REASONS[generation.finish],
            "generated_tokens": generation.generated_tokens,
            "inputs": prompt,
            "tokens": [],
        }
        return {"generated_text": text, "details": details}

    def _formatted(self, output: dict[str, Any], steps: int) -> Answer:
        return json_answer(200, [output] if self._tgi_compat else output, steps)

    def _is_greedy(self, fields: Mapping[str, Any]) -> bool:
        if self._version < TEMPERATURE_SUFFICES_SINCE:
            return not fields.get("do_sample", False)
        return not fields.get("do_sample", "temperature" in fields)

    def _check(self, fields: Mapping[str, Any], prompt_tokens: int, wanted: int | None) -> None:
        refusal = sampling_refusal(fields, wanted) or too_long(self._context_tokens, prompt_tokens, wanted)
        if refusal:
            raise RefusedError(400, refusal)


def _read(body: Any) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
    if not isinstance(body, dict) or "inputs" not in body:
        raise ValueError("Invalid Request Property: 'inputs'")
    inputs, parameters = body["inputs"], body.get("parameters") or {}
    if not isinstance(inputs, str):
        raise ValueError("inputs must be a string: a rolling batch takes one prompt in a request")
    if not isinstance(parameters, dict):
        raise ValueError("parameters must be an object")
    fields = read_fields(parameters, PARAMETERS)
    if body.get("stream") or parameters.get("stream"):
        raise RefusedError(400, "stream is not available on the local model server.")
    return inputs, parameters, fields


def _stop(parameters: Mapping[str, Any]) -> Any:
    return parameters.get("stop_sequences", parameters.get("stop"))


def _error(code: int, message: str) -> Answer:
    return json_answer(code, {"code": code, "error": message})
