"""AWS's and Hugging Face's llama.cpp containers: their model, their /invocations and llama-server's errors.

Sources: aws/deep-learning-containers scripts/docker/llama_cpp/sagemaker_entrypoint.sh (SM_LLAMA_CPP_MODEL, else a
.gguf file in /opt/ml/model, else what --hf-repo names) and llama_cpp_sagemaker.conf.template (/invocations is
/v1/chat/completions); ggml-org/llama.cpp tools/server (a field of the wrong type counts as not given; errors;
#15780 for prompts that exceed the context). Hugging Face's image says SM_LLAMACPP_. One difference is wanted: a server
without a model starts as a router of models in AWS's image; here it does not start.
"""

from collections.abc import Mapping
from typing import Any

from local_cloud.model_server.answer import (
    Answer,
    RefusedError,
    StartError,
    WrongTypeError,
    json_answer,
    parse_json,
    read_fields,
)
from local_cloud.model_server.language_model import LanguageModel
from local_cloud.model_server.lmi import DEFAULT_CONTEXT_TOKENS
from local_cloud.model_server.openai_api import REQUEST_FIELDS, OpenAiApi
from local_cloud.model_server.server_flags import ServerFlags
from local_cloud.model_server.weights import model_folder


class _TooLongError(RefusedError):
    def __init__(self, prompt_tokens: int, context_tokens: int) -> None:
        super().__init__(
            400,
            f"request ({prompt_tokens} tokens) exceeds the available context size ({context_tokens} tokens), try "
            "increasing it",
        )
        self.counts = {"n_prompt_tokens": prompt_tokens, "n_ctx": context_tokens}


class LlamaCppServer:
    """Answers invocations as llama-server does; any model name in a body is served."""

    most_concurrent_requests = 10_000

    def __init__(self, environment: Mapping[str, str], model: LanguageModel) -> None:
        theirs = any(name.startswith("SM_LLAMACPP_") for name in environment)
        flags = ServerFlags(environment, "SM_LLAMACPP_" if theirs else "SM_LLAMA_CPP_", "llama-server")
        name = _model_name(flags, environment)
        # 0 stands for the context of the model itself.
        self._context_tokens = flags.number("CTX_SIZE", default=0, least=0) or DEFAULT_CONTEXT_TOKENS
        self._api = OpenAiApi(model, flags.text("ALIAS") or name, self._check)

    def refuse_overload(self) -> Answer:
        """Nothing is refused before `most_concurrent_requests`, which stands for no limit."""
        return _error(503, "Loading model", "unavailable_error")

    def answer(self, raw: bytes) -> Answer:
        """The answer to one chat."""
        try:
            body = parse_json(raw)
        except ValueError as error:
            return _error(500, f"[json.exception.parse_error.101] parse error: {error}", "server_error")
        if not isinstance(body, dict) or "messages" not in body:
            return _error(400, "'messages' is required", "invalid_request_error")
        if not isinstance(body["messages"], list):
            return _error(400, "Expected 'messages' to be an array", "invalid_request_error")
        try:
            return self._api.chat(_lenient(body, self._context_tokens))
        except _TooLongError as too_long:
            return _error(400, too_long.message, "exceed_context_size_error", **too_long.counts)
        except (RefusedError, WrongTypeError) as refused:
            return _error(400, str(refused), "invalid_request_error")

    def _check(self, fields: Mapping[str, Any], prompt_tokens: int, wanted: int | None) -> None:
        if prompt_tokens >= self._context_tokens:
            raise _TooLongError(prompt_tokens, self._context_tokens)


def _model_name(flags: ServerFlags, environment: Mapping[str, str]) -> str:
    folder = model_folder(environment)
    files = sorted(folder.glob("*.gguf")) + sorted(folder.glob("*/*.gguf")) if folder else []
    if path := flags.text("MODEL"):
        if path.startswith("/opt/ml/model") and not (folder and (folder / path[len("/opt/ml/model/") :]).is_file()):
            raise StartError(f"llama_model_load_from_file_impl: failed to load model: no such file: {path}")
        return path
    if files:
        return files[0].name
    if repository := flags.text("HF_REPO"):
        return repository
    raise StartError("WARNING: no *.gguf found under /opt/ml/model; set SM_LLAMA_CPP_MODEL or mount a GGUF.")


def _lenient(body: Mapping[str, Any], most_tokens: int) -> dict[str, Any]:
    """What llama-server makes of a body: odd types and values count as not given, limits end at the context."""
    kept = {name: value for name, value in body.items() if name not in REQUEST_FIELDS and name != "stop"}
    for name, kind in REQUEST_FIELDS.items():
        try:
            kept |= read_fields({name: body.get(name)}, {name: kind})
        except WrongTypeError:
            continue
    stop = body.get("stop")
    if isinstance(stop, str):
        stop = [stop]
    if isinstance(stop, list):
        kept["stop"] = [text for text in stop if isinstance(text, str) and text]
    kept.pop("model", None)
    if kept.get("temperature", 1.0) < 0:
        kept["temperature"] = 0.0
    if not 0 < kept.get("top_p", 1.0) <= 1:
        kept.pop("top_p")
    if kept.get("repetition_penalty", 1.0) <= 0:
        kept.pop("repetition_penalty")
    for limit in ("max_tokens", "max_completion_tokens"):
        if limit in kept:
            # -1 is llama-server's own way to say that there is no limit.
            kept[limit] = min(kept[limit], most_tokens) if kept[limit] >= 0 else most_tokens
    return kept


def _error(code: int, message: str, kind: str, **more: int) -> Answer:
    return json_answer(code, {"error": {"code": code, "message": message, "type": kind, **more}})
