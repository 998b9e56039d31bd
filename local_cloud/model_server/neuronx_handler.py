"""LMI with transformers-neuronx (DJL Serving 0.22.1 to 0.30.0): its batch size, its lengths and its answers.

Source: deepjavalibrary/djl-serving djl_python/transformers-neuronx.py (0.22.1 and 0.23.0) and
transformers_neuronx.py: the model is compiled for `batch_size` prompts of at most `n_positions` tokens (1 and 128
by default). Up to 0.23 a call must bring exactly that many prompts; from 0.24 on missing ones are padded. 0.22.1
samples up to `max_length` tokens, 50 by default; later ones hand the parameters to `generate` of transformers, and
`use_sample` asks for sampling up to n_positions. `max_length` counts the prompt, and the answer repeats it. The
text of the refusal of too many tokens is this server's own.
"""

from collections.abc import Mapping
from typing import Any

from local_cloud.model_server import hf_generate
from local_cloud.model_server.answer import StartError, read_fields
from local_cloud.model_server.djl_settings import version_of, whole_number
from local_cloud.model_server.language_model import Generation, LanguageModel, count_tokens
from local_cloud.model_server.python_handler import PythonHandler

PADS_SINCE = (0, 24)
GENERATES_SINCE = (0, 23)
SAMPLED_LENGTH = 50


class NeuronxHandler(PythonHandler):
    """Answers invocations as djl_python.transformers-neuronx (later transformers_neuronx) does."""

    def __init__(self, settings: Mapping[str, str], model: LanguageModel) -> None:
        super().__init__(settings, model, answers_alone=False)
        self._version = version_of(settings)
        data_types = ("fp32", "fp16", "bf16") if self._version >= PADS_SINCE else ("fp32", "fp16")
        if (data_type := settings.get("OPTION_DTYPE", "fp32")) not in data_types:
            raise StartError(f"ValueError: {data_type} data type not supported!")
        # The same name with and without `option.`: what the front end collects is what the model is compiled for.
        self._batch_size = whole_number(settings, "OPTION_BATCH_SIZE", self.batching.size)
        self._n_positions = whole_number(settings, "OPTION_N_POSITIONS", 128)

    def generate(self, prompts: list[str], parameters: dict[str, Any]) -> list[list[Generation]]:
        """One continuation for each prompt, within the lengths the model was compiled for."""
        self._check_batch(len(prompts))
        use_sample = parameters.pop("use_sample", False) or self._version < GENERATES_SINCE
        if use_sample:
            longest = SAMPLED_LENGTH if self._version < GENERATES_SINCE else self._n_positions
            parameters = {"max_length": longest, "do_sample": True, **parameters}
        length = read_fields(parameters, {"max_length": "int", "max_new_tokens": "int"})
        for prompt in prompts:
            self._check_length(count_tokens(prompt), length)
        return hf_generate.generate(self.model, prompts, parameters, encoder_decoder=False)

    def _check_batch(self, prompts: int) -> None:
        if self._version < PADS_SINCE and prompts != self._batch_size:
            raise ValueError(f"{self._batch_size} batch size not equal to {prompts} prompt size")
        if prompts > self._batch_size:
            raise ValueError(f"Batch size {prompts} beyond the max_batch size the model can support {self._batch_size}")

    def _check_length(self, prompt_tokens: int, length: Mapping[str, int]) -> None:
        total = length.get("max_length", prompt_tokens)
        if "max_new_tokens" in length:
            total = prompt_tokens + length["max_new_tokens"]
        if max(total, prompt_tokens) > self._n_positions:
            raise ValueError(
                f"the prompt's {prompt_tokens} tokens and the answer's come to {max(total, prompt_tokens)}, but the "
                f"model was compiled for n_positions={self._n_positions}"
            )
