"""LMI with FasterTransformer (DJL Serving 0.22.1 to 0.24.0): its parameters and its answers.

Source: deepjavalibrary/djl-serving djl_python/fastertransformer.py: parameters are FasterTransformer's own, Hugging
Face names are mapped to them, an answer is a list of {"generated_text"}; T5 makes up to 200 tokens by default and
answers without its prompt, other models make 50. FasterTransformer takes the likeliest token unless `top_k` says
otherwise, and starts from `random_seed` 0. What it does with a parameter that it does not know was not found; here
it is ignored.
"""

from collections.abc import Mapping
from typing import Any

from local_cloud.model_server.answer import Kind, StartError, read_fields
from local_cloud.model_server.language_model import Generation, LanguageModel, Sampling
from local_cloud.model_server.python_handler import PythonHandler
from local_cloud.model_server.weights import is_encoder_decoder

DATA_TYPES = ("fp32", "fp16", "bf16")
PARAMETERS: dict[str, Kind] = {
    "max_seq_len": "int",
    "min_length": "int",
    "beam_width": "int",
    "top_k": "int",
    "top_p": "float",
    "temperature": "float",
    "len_penalty": "float",
    "repetition_penalty": "float",
    "random_seed": "int",
}
# In this order: a later one wins over an earlier one, as in the handler.
HUGGING_FACE_NAMES = {
    "max_new_tokens": "max_seq_len",
    "max_length": "max_seq_len",
    "num_beams": "beam_width",
    "length_penalty": "len_penalty",
}
T5_TOKENS, OTHER_TOKENS = 200, 50


class FasterTransformerHandler(PythonHandler):
    """Answers invocations as djl_python.fastertransformer does."""

    def __init__(self, settings: Mapping[str, str], model: LanguageModel) -> None:
        self._is_t5 = is_encoder_decoder(settings.get("OPTION_MODEL_ID", ""), settings)
        super().__init__(settings, model, answers_alone=self._is_t5)
        if (data_type := settings.get("OPTION_DTYPE", "fp32")) not in DATA_TYPES:
            raise StartError(f"ValueError: data type {data_type} is not one of {', '.join(DATA_TYPES)}")

    def generate(self, prompts: list[str], parameters: dict[str, Any]) -> list[list[Generation]]:
        """One continuation for each prompt; `max_seq_len` counts the answer only."""
        for name, own_name in HUGGING_FACE_NAMES.items():
            if name in parameters:
                parameters[own_name] = parameters.pop(name)
        fields = read_fields(parameters, PARAMETERS)
        wanted = fields.get("max_seq_len", T5_TOKENS if self._is_t5 else OTHER_TOKENS)
        if wanted < 1:
            raise ValueError(f"max_seq_len must be at least 1, got {wanted}")
        sampling = _sampling(fields, wanted)
        return [[self.model.generate(prompt, sampling)] for prompt in prompts]


def _sampling(fields: Mapping[str, Any], wanted: int) -> Sampling:
    top_k, top_p = fields.get("top_k", 1), fields.get("top_p", 0.0)
    temperature = fields.get("temperature", 1.0)
    greedy = (top_k <= 0 and top_p <= 0) or temperature <= 0 or fields.get("beam_width", 1) > 1
    return Sampling(
        temperature=0.0 if greedy else temperature,
        top_k=top_k,
        # 0 is FasterTransformer's way to leave it out.
        top_p=top_p if 0 < top_p <= 1 else 1.0,
        repetition_penalty=_positive(fields.get("repetition_penalty", 1.0)),
        seed=fields.get("random_seed", 0),
        max_new_tokens=wanted,
    )


def _positive(penalty: float) -> float:
    if penalty <= 0:
        raise ValueError(f"repetition_penalty must be greater than 0, got {penalty}")
    return penalty
