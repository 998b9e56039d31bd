"""As much of transformers as the handlers call, with the local language model in place of every model.

A "tensor" of prompts is a list of texts. Refusals are worded as in GenerationMixin of transformers.
"""

from .generation import AutoModelForCausalLM, Model
from .pretrained import AutoConfig
from .tokenizer import AutoTokenizer

__all__ = ["AutoConfig", "AutoModelForCausalLM", "AutoTokenizer", "Model"]
