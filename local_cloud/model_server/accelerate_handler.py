"""LMI with Hugging Face Accelerate (djl_python.huggingface without a rolling batch): its parameters and its answers.

Source: deepjavalibrary/djl-serving djl_python/huggingface.py: text generation calls `generate` on the whole batch and
decodes prompt and answer together; text2text goes through transformers' pipeline, which answers without the prompt.
Chats need a rolling batch (chat_completions/chat_utils.py). Quantization: properties_manager/hf_properties.py.
"""

from collections.abc import Mapping
from typing import Any

from local_cloud.model_server import hf_generate
from local_cloud.model_server.answer import StartError
from local_cloud.model_server.djl_settings import version_of
from local_cloud.model_server.language_model import Generation, LanguageModel
from local_cloud.model_server.python_handler import PythonHandler, answers_alone

TASKS = ("text-generation", "text2text-generation")
QUANTIZATIONS = ("bitsandbytes4", "bitsandbytes8")
# The images carry transformers 4.38 or newer from here on.
LONG_PROMPTS_REFUSED_SINCE = (0, 28)


class AccelerateHandler(PythonHandler):
    """Answers invocations as djl_python.huggingface does when it generates by itself."""

    def __init__(self, settings: Mapping[str, str], model: LanguageModel) -> None:
        task, quantization = settings.get("OPTION_TASK"), settings.get("OPTION_QUANTIZE")
        super().__init__(settings, model, answers_alone=answers_alone(settings, task))
        if task and task not in TASKS:
            raise StartError(f"the local model server generates text: it does not stand in for the task {task}")
        if quantization and quantization not in QUANTIZATIONS:
            raise StartError(
                "ValidationError: 1 validation error for HuggingFaceProperties: quantize: Input should be "
                f"'bitsandbytes4' or 'bitsandbytes8', input_value='{quantization}'"
            )
        refuses = version_of(settings) >= LONG_PROMPTS_REFUSED_SINCE
        self._defaults = hf_generate.Defaults(refuses_long_prompts=refuses)

    def generate(self, prompts: list[str], parameters: dict[str, Any]) -> list[list[Generation]]:
        """What `generate` makes of each prompt."""
        return hf_generate.generate(
            self.model, prompts, parameters, encoder_decoder=self.answers_alone, defaults=self._defaults
        )
