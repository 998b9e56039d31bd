"""Hugging Face's inference toolkit on CPU or GPU: transformers pipelines behind the multi-model server.

Sources: aws/sagemaker-huggingface-inference-toolkit handler_service.py, transformers_utils.py and
mms_model_server.py; errors as the multi-model server wraps them. The model is loaded at the first request: a task
that is missing, unknown or not inferred is a 400 of every invocation, and the container starts.
huggingface/transformers pipelines/text_generation.py and text2text_generation.py: a list of prompts gets a list of
lists from the former, a flat list from the latter; since 4.50 a pipeline makes up to 256 tokens and samples text;
5.0 has no text2text-generation any more (#43256).
"""

import json
from collections.abc import Mapping
from typing import Any

from local_cloud.model_server import hf_generate
from local_cloud.model_server.answer import Answer, StartError, json_answer, parse_json
from local_cloud.model_server.language_model import Generation, LanguageModel
from local_cloud.model_server.weights import architecture, has_weights, is_encoder_decoder, model_folder

TEXT_TASKS = ("text-generation", "text2text-generation")
OTHER_TASKS = (
    "audio-classification",
    "automatic-speech-recognition",
    "feature-extraction",
    "fill-mask",
    "image-classification",
    "image-segmentation",
    "object-detection",
    "question-answering",
    "summarization",
    "table-question-answering",
    "text-classification",
    "token-classification",
    "translation",
    "zero-shot-classification",
)
ARCHITECTURE_TASKS = {
    "ForCausalLM": "text-generation",
    "LMHeadModel": "text-generation",
    "ForConditionalGeneration": "text2text-generation",
}
PIPELINE_DEFAULTS_SINCE, NO_TEXT2TEXT_SINCE, LONG_PROMPTS_REFUSED_SINCE = (4, 50), (5,), (4, 38)
MOST_QUEUED = 100


class _PredictionError(Exception):
    """What the handler service turns into a 400."""


class HuggingFaceToolkit:
    """Answers invocations as the toolkit's default handler does."""

    most_concurrent_requests = MOST_QUEUED

    def __init__(self, environment: Mapping[str, str], model: LanguageModel) -> None:
        if not environment.get("HF_MODEL_ID") and model_folder(environment) is None:
            raise StartError("ValueError: no model: HF_MODEL_ID is not set and /opt/ml/model is empty")
        version = environment.get("SLIPWAY_LOCAL_ENGINE_VERSION")
        self._version = tuple(int(part) for part in version.split(".")) if version else (4, 51)
        self._model = model
        self._task, self._load_error = self._pipeline(environment)
        self._encoder_decoder = self._task == "text2text-generation"
        self._is_gpt2 = "gpt2" in environment.get("HF_MODEL_ID", "")

    def refuse_overload(self) -> Answer:
        """What a request gets while MMS has `job_queue_size` of them."""
        return _error(503, "ServiceUnavailableException", 'Model "model" has no worker to serve inference request.')

    def answer(self, raw: bytes) -> Answer:
        """The pipeline's result for one body, or a 400 with whatever went wrong."""
        try:
            if self._load_error:
                raise _PredictionError(self._load_error)
            return self._predict(parse_json(raw))
        except (_PredictionError, ValueError) as error:
            return _error(400, "InternalServerException", str(error))

    def _pipeline(self, environment: Mapping[str, str]) -> tuple[str, str]:
        """The task, and why its pipeline cannot be made; either may be empty."""
        task = environment.get("HF_TASK") or _inferred_task(environment)
        tasks = [name for name in TEXT_TASKS if name != "text2text-generation" or self._version < NO_TEXT2TEXT_SINCE]
        if not task:
            return "", str((f"You need to define one of the following {[*OTHER_TASKS, *tasks]} as env 'HF_TASK'.", 403))
        if task in OTHER_TASKS:
            return "", f"the local model server generates text: it does not stand in for the task {task}"
        if task not in tasks:
            return "", repr(f"Unknown task {task}, available tasks are {[*OTHER_TASKS, *tasks]}")
        return task, ""

    def _predict(self, body: Any) -> Answer:
        if not isinstance(body, dict):
            raise _PredictionError(f"'{type(body).__name__}' object has no attribute 'pop'")
        inputs, parameters = body.get("inputs"), body.get("parameters") or {}
        prompts: list[Any] = inputs if isinstance(inputs, list) else [inputs]
        if not prompts or not all(isinstance(prompt, str) for prompt in prompts):
            raise _PredictionError("text input must of type `str` (single example) or `List[str]` (batch).")
        if not isinstance(parameters, dict):
            raise _PredictionError(f"argument after ** must be a mapping, not {type(parameters).__name__}")
        full_text = parameters.get("return_full_text", True)
        generated = hf_generate.generate(
            self._model,
            prompts,
            {name: value for name, value in parameters.items() if name != "return_full_text"},
            encoder_decoder=self._encoder_decoder,
            defaults=self._defaults(),
        )
        outputs = [
            [{"generated_text": self._text(prompt, generation, bool(full_text))} for generation in copies]
            for prompt, copies in zip(prompts, generated, strict=True)
        ]
        steps = max(generation.generated_tokens for copies in generated for generation in copies)
        return json_answer(200, self._shaped(outputs, isinstance(inputs, list)), steps)

    def _defaults(self) -> hf_generate.Defaults:
        refuses = self._version >= LONG_PROMPTS_REFUSED_SINCE
        if self._version < PIPELINE_DEFAULTS_SINCE:
            # GPT-2's own configuration has these for this task.
            length, samples = (50, True) if self._is_gpt2 else (hf_generate.DEFAULT_MAX_LENGTH, False)
            return hf_generate.Defaults(max_length=length, do_sample=samples, refuses_long_prompts=refuses)
        if self._encoder_decoder:
            return hf_generate.Defaults(max_new_tokens=256, refuses_long_prompts=refuses)
        return hf_generate.Defaults(max_new_tokens=256, do_sample=True, temperature=0.7, refuses_long_prompts=refuses)

    def _text(self, prompt: str, generation: Generation, full_text: bool) -> str:
        if self._encoder_decoder:
            return generation.text.strip()
        return prompt + generation.text if full_text else generation.text

    def _shaped(self, outputs: list[list[dict[str, str]]], is_batch: bool) -> Any:
        if not is_batch:
            return outputs[0]
        if self._encoder_decoder and all(len(copies) == 1 for copies in outputs):
            return [copies[0] for copies in outputs]
        return outputs


def _inferred_task(environment: Mapping[str, str]) -> str:
    """From config.json; a model of the Hub has one, so its kind decides."""
    if environment.get("HF_MODEL_ID") and not has_weights(environment):
        encoder_decoder = is_encoder_decoder(environment["HF_MODEL_ID"], environment)
        return "text2text-generation" if encoder_decoder else "text-generation"
    named = architecture(environment)
    return next((task for ending, task in ARCHITECTURE_TASKS.items() if named.endswith(ending)), "")


def _error(code: int, kind: str, message: str) -> Answer:
    return Answer(code, json.dumps({"code": code, "type": kind, "message": message}, indent=2).encode())
