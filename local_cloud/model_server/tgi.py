"""A TGI container: its environment, its request shapes and its errors.

Shapes, limits and texts: huggingface/text-generation-inference router/src/validation.rs, sagemaker.rs, server.rs and
sagemaker-entrypoint.sh; sampling by hint of a parameter: server/text_generation_server/utils/tokens.py.
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
from local_cloud.model_server.openai_api import OpenAiApi, sampling_of
from local_cloud.model_server.weights import has_weights

DEFAULT_NEW_TOKENS = 100
MAX_STOP_SEQUENCES = 4
PARAMETERS: dict[str, Kind] = {
    "temperature": "float",
    "top_k": "int",
    "top_p": "float",
    "repetition_penalty": "float",
    "seed": "unsigned",
    "max_new_tokens": "unsigned",
    "stop": "strings",
    "do_sample": "bool",
    "return_full_text": "bool",
    "details": "bool",
}
RUST_TYPES: dict[Kind, str] = {
    "float": "f32",
    "int": "i32",
    "unsigned": "u32",
    "bool": "a boolean",
    "string": "a string",
    "strings": "a sequence",
}
FINISH_REASONS = {"length": "length", "stop": "stop_sequence", "end": "eos_token"}


class Tgi:
    """Answers invocations as TGI's SageMaker route does; OpenAI bodies since version 2.4.0."""

    def __init__(self, environment: Mapping[str, str], model: LanguageModel) -> None:
        name = environment.get("HF_MODEL_ID")
        if not name:
            raise StartError("HF_MODEL_ID must be set")
        if name == "/opt/ml/model" and not has_weights(environment):
            raise StartError("OSError: /opt/ml/model does not appear to have a file named config.json.")
        self.most_concurrent_requests = _limit(environment, "MAX_CONCURRENT_REQUESTS", "128")
        self._max_input = _limit(environment, "MAX_INPUT_LENGTH", environment.get("MAX_INPUT_TOKENS", "1024"))
        self._max_total = _limit(environment, "MAX_TOTAL_TOKENS", "2048")
        if self._max_input >= self._max_total:
            raise StartError('Error: ArgumentValidation("`max_input_length` must be < `max_total_tokens`")')
        version = environment.get("SLIPWAY_LOCAL_ENGINE_VERSION")
        self._takes_openai = not version or _numbers(version) >= (2, 4, 0)
        self._model = model
        self._api = OpenAiApi(model, "tgi", self._check)

    def refuse_overload(self) -> Answer:
        """What a request beyond `most_concurrent_requests` gets."""
        return json_answer(429, {"error": "Model is overloaded", "error_type": "overloaded"})

    def answer(self, raw: bytes) -> Answer:
        """The answer to one body: an array of one for a prompt, an OpenAI object for a chat or a completion."""
        try:
            body = parse_json(raw)
        except ValueError as error:
            return _plain(400, f"Failed to parse the request body as JSON: {error}")
        try:
            if self._takes_openai and isinstance(body, dict) and "inputs" not in body:
                if "messages" in body:
                    return self._api.chat(_chat_body(body))
                if "prompt" in body:
                    return self._api.completion(_chat_body(body))
            return self._generate(_generate_body(body))
        except WrongTypeError as wrong:
            return _plain(422, self._mismatch(wrong))
        except RefusedError as refused:
            text = f"Input validation error: {refused.message}"
            return json_answer(422, {"error": text, "error_type": "validation"})

    def _mismatch(self, wrong: WrongTypeError) -> str:
        start = "Failed to deserialize the JSON body into the target type: "
        if self._takes_openai:
            return start + "data did not match any variant of untagged enum SagemakerRequest"
        if wrong.value is None:
            return f"{start}missing field `{wrong.field}`"
        return f"{start}{wrong.field}: invalid type: {_serde_name(wrong.value)}, expected {RUST_TYPES[wrong.kind]}"

    def _generate(self, body: Mapping[str, Any]) -> Answer:
        prompt, fields = body["inputs"], body["parameters"]
        wanted = fields.get("max_new_tokens", DEFAULT_NEW_TOKENS)
        self._check(fields, count_tokens(prompt), wanted)
        if not prompt:
            raise RefusedError(422, "`inputs` cannot be empty")
        if body["stream"]:
            raise RefusedError(422, "stream is not available on the local model server")
        # TGI samples as soon as one of these is given, whatever do_sample says.
        shaped = fields.get("temperature", 1.0) != 1 or "top_k" in fields or "top_p" in fields
        samples = shaped or fields.get("do_sample", False)
        sampled = fields if samples else {**fields, "temperature": 0.0}
        generation = self._model.generate(prompt, sampling_of(sampled, wanted, fields.get("stop", ())))
        output: dict[str, Any] = {"generated_text": _full_text(prompt, generation, fields)}
        if fields.get("details"):
            output["details"] = {
                "finish_reason": FINISH_REASONS[generation.finish],
                "generated_tokens": generation.generated_tokens,
                "seed": fields.get("seed") if samples else None,
                "prefill": [],
                "tokens": [],
            }
        return json_answer(200, [output], generation.generated_tokens)

    def _check(self, fields: Mapping[str, Any], prompt_tokens: int, wanted: int | None) -> None:
        if refusal := _parameter_refusal(fields, wanted):
            raise RefusedError(422, refusal)
        if prompt_tokens + (wanted or 1) > self._max_total:
            raise RefusedError(
                422,
                f"`inputs` tokens + `max_new_tokens` must be <= {self._max_total}. "
                f"Given: {prompt_tokens} `inputs` tokens and {wanted or 1} `max_new_tokens`",
            )
        if prompt_tokens > self._max_input:
            raise RefusedError(422, f"`inputs` must have less than {self._max_input} tokens. Given: {prompt_tokens}")


def _parameter_refusal(fields: Mapping[str, Any], wanted: int | None) -> str | None:
    if fields.get("temperature", 1.0) <= 0:
        return "`temperature` must be strictly positive"
    if fields.get("repetition_penalty", 1.0) <= 0:
        return "`repetition_penalty` must be strictly positive"
    if "top_p" in fields and not 0 < fields["top_p"] < 1:
        return "`top_p` must be > 0.0 and < 1.0"
    if fields.get("top_k", 1) <= 0:
        return "`top_k` must be strictly positive"
    if wanted is not None and wanted <= 0:
        return "`max_new_tokens` must be strictly positive"
    if len(fields.get("stop", ())) > MAX_STOP_SEQUENCES:
        return f"`stop` supports up to {MAX_STOP_SEQUENCES} stop sequences. Given: {len(fields['stop'])}"
    return None


def _generate_body(body: Any) -> dict[str, Any]:
    """The prompt, the parameters that are given, and whether to stream; raises WrongTypeError."""
    if not isinstance(body, dict) or not isinstance(body.get("inputs"), str):
        raise WrongTypeError("inputs", body.get("inputs") if isinstance(body, dict) else None, "string")
    parameters = body.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise WrongTypeError("parameters", parameters, "strings")
    return {
        "inputs": body["inputs"],
        "parameters": read_fields(parameters, PARAMETERS),
        "stream": read_fields(body, {"stream": "bool"}).get("stream"),
    }


def _chat_body(body: dict[str, Any]) -> dict[str, Any]:
    """The body with TGI's reading of two fields: any model name is served, temperature 0 means greedy."""
    kept = {name: value for name, value in body.items() if name != "model"}
    if kept.get("temperature") == 0:
        kept.update(temperature=1.0, top_k=1)
    return kept


def _full_text(prompt: str, generation: Generation, fields: Mapping[str, Any]) -> str:
    # TGI leaves the stop sequence in the text.
    text = generation.text + (generation.stop or "")
    return prompt + text if fields.get("return_full_text") else text


def _limit(environment: Mapping[str, str], name: str, default: str) -> int:
    given = environment.get(name, default)
    if not given.isdecimal():
        flag = name.lower().replace("_", "-")
        raise StartError(f"error: invalid value '{given}' for '--{flag} <{name}>': invalid digit found in string")
    return int(given)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _serde_name(value: object) -> str:
    match value:
        case bool():
            return f"boolean `{str(value).lower()}`"
        case int():
            return f"integer `{value}`"
        case float():
            return f"floating point `{value}`"
        case str():
            return f'string "{value}"'
        case list():
            return "sequence"
    return "map"


def _plain(status: int, text: str) -> Answer:
    return Answer(status, text.encode(), "text/plain; charset=utf-8")
