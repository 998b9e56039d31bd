"""LMI with DeepSpeed (DJL Serving 0.19.0 to 0.27.0): its parameters, its answers and what it does not load.

Source: deepjavalibrary/djl-serving djl_python/deepspeed.py: parameters go to `generate` of transformers, a list of
{"generated_text"} comes back, with the prompt where the model is decoder-only; data types, tasks and the checkpoint's
condition are checked at the start. Prompts longer than `max_tokens`: deepspeed/inference/engine.py.
"""

from collections.abc import Mapping
from typing import Any

from local_cloud.model_server import hf_generate
from local_cloud.model_server.answer import StartError
from local_cloud.model_server.djl_settings import whole_number
from local_cloud.model_server.language_model import Generation, LanguageModel, count_tokens
from local_cloud.model_server.python_handler import PythonHandler, answers_alone

DATA_TYPES = ("fp32", "fp16", "bf16", "int8")
TASKS = (
    "text-generation",
    "text-classification",
    "question-answering",
    "fill-mask",
    "token-classification",
    "conversational",
    "text2text-generation",
)


class DeepSpeedHandler(PythonHandler):
    """Answers invocations as djl_python.deepspeed does."""

    def __init__(self, settings: Mapping[str, str], model: LanguageModel) -> None:
        data_type, task = settings.get("OPTION_DTYPE"), settings.get("OPTION_TASK")
        super().__init__(settings, model, answers_alone=answers_alone(settings, task))
        if data_type is not None and data_type not in DATA_TYPES:
            raise StartError(f"ValueError: Invalid data type: {data_type}")
        if task and task not in TASKS:
            raise StartError(f"ValueError: task: {task} is not currently supported by DeepSpeed")
        if task and not task.startswith("text"):
            raise StartError(f"the local model server generates text: it does not stand in for the task {task}")
        self._max_tokens = whole_number(settings, "OPTION_MAX_TOKENS", 1024)

    def generate(self, prompts: list[str], parameters: dict[str, Any]) -> list[list[Generation]]:
        """What `generate` makes of each prompt."""
        longest = max(count_tokens(prompt) for prompt in prompts)
        if longest > self._max_tokens:
            raise ValueError(
                f"Input with size {longest} exceeds maximum length of {self._max_tokens}. Please increase `max_tokens` "
                "in the DeepSpeed Inference Config."
            )
        return hf_generate.generate(self.model, prompts, parameters, encoder_decoder=self.answers_alone)
