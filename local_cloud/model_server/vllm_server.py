"""AWS's and Hugging Face's vLLM containers: their model, their /invocations and vLLM's errors.

Sources: aws/deep-learning-containers scripts/docker/vllm/sagemaker_args.py and
huggingface/vllm/sagemaker_entrypoint.sh (the model is SM_VLLM_MODEL, else /opt/ml/model, else HF_MODEL_ID, which
Hugging Face's images read since 0.22); vllm-project/vllm entrypoints/sagemaker/routes.py (a body is tried as a
chat, then as a completion) and entrypoints/openai/engine/protocol.py (the error). One difference is wanted: without
a model vLLM serves a default one that nobody asked for; here the container does not start.
"""

import json
from collections.abc import Mapping
from typing import Any

from local_cloud.model_server.answer import Answer, RefusedError, StartError, WrongTypeError, json_answer, parse_json
from local_cloud.model_server.language_model import LanguageModel
from local_cloud.model_server.lmi import DEFAULT_CONTEXT_TOKENS, sampling_refusal, too_long
from local_cloud.model_server.openai_api import OpenAiApi
from local_cloud.model_server.server_flags import ServerFlags
from local_cloud.model_server.weights import has_weights

HUB_VARIABLE_READ_SINCE = (0, 22)
KINDS = {400: "BadRequestError", 404: "NotFoundError"}
NO_HANDLER = "Cannot find suitable handler for request. Expected one of: ['ChatCompletionRequest', 'CompletionRequest']"


class VllmServer:
    """Answers invocations as vLLM's OpenAI server does; it queues whatever comes."""

    most_concurrent_requests = 10_000

    def __init__(self, environment: Mapping[str, str], model: LanguageModel) -> None:
        flags = ServerFlags(environment, "SM_VLLM_", "api_server.py")
        name = _model_name(flags, environment)
        flags.number("TENSOR_PARALLEL_SIZE", default=1)
        self._context_tokens = flags.human_number("MAX_MODEL_LEN", DEFAULT_CONTEXT_TOKENS)
        self._names = _served_names(flags.text("SERVED_MODEL_NAME")) or [name]
        self._api = OpenAiApi(model, self._names[0], self._check)

    def refuse_overload(self) -> Answer:
        """Nothing is refused before `most_concurrent_requests`, which stands for no limit."""
        return _error(503, "The server is overloaded")

    def answer(self, raw: bytes) -> Answer:
        """The answer to one body: a chat with `messages`, a completion with `prompt`."""
        try:
            body = parse_json(raw)
        except ValueError as error:
            return _error(400, f"JSON decode error: {error}")
        try:
            return self._dispatch(body)
        except WrongTypeError:
            return _error(400, NO_HANDLER)
        except RefusedError as refused:
            return _error(refused.status, refused.message)

    def _dispatch(self, body: Any) -> Answer:
        if isinstance(body, dict) and body.get("model") in self._names:
            body = {**body, "model": self._names[0]}
        if isinstance(body, dict) and "messages" in body:
            return self._api.chat(body)
        if isinstance(body, dict) and "prompt" in body:
            return self._api.completion(body)
        raise RefusedError(400, NO_HANDLER)

    def _check(self, fields: Mapping[str, Any], prompt_tokens: int, wanted: int | None) -> None:
        refusal = sampling_refusal(fields, wanted) or too_long(self._context_tokens, prompt_tokens, wanted)
        if refusal:
            raise RefusedError(400, refusal)


def _model_name(flags: ServerFlags, environment: Mapping[str, str]) -> str:
    if name := flags.text("MODEL"):
        if name == "/opt/ml/model" and not has_weights(environment):
            raise StartError("OSError: /opt/ml/model does not appear to have a file named config.json.")
        return name
    if has_weights(environment):
        return "/opt/ml/model"
    if _reads_hub_variable(environment) and environment.get("HF_MODEL_ID"):
        return environment["HF_MODEL_ID"]
    raise StartError("WARNING: No model specified. Set SM_VLLM_MODEL, HF_MODEL_ID, or mount a model to /opt/ml/model.")


def _reads_hub_variable(environment: Mapping[str, str]) -> bool:
    version = environment.get("SLIPWAY_LOCAL_ENGINE_VERSION")
    if environment.get("SLIPWAY_LOCAL_ENGINE") != "huggingface-vllm" or not version:
        return True
    return tuple(int(part) for part in version.split(".")) >= HUB_VARIABLE_READ_SINCE


def _served_names(given: str | None) -> list[str]:
    if given is None or not given.startswith("["):
        return [given] if given else []
    try:
        return [str(name) for name in json.loads(given)]
    except ValueError:
        return [given]


def _error(code: int, message: str) -> Answer:
    error = {"message": message, "type": KINDS.get(code, "InternalServerError"), "param": None, "code": code}
    return json_answer(code, {"error": error})
