"""TGI on Neuron: TGI's shapes within the lengths that the model was compiled for.

Source: huggingface/optimum-neuron text-generation-inference tgi_env.py: the compiled sequence length is the limit
of all tokens, half of it that of the prompt unless MAX_INPUT_TOKENS says otherwise; MAX_* variables may lie below
the compiled HF_* ones, not above. That a compiled configuration is in the cache is not checked here.
"""

from collections.abc import Mapping

from local_cloud.model_server.answer import StartError
from local_cloud.model_server.language_model import LanguageModel
from local_cloud.model_server.tgi import Tgi

DEFAULT_SEQUENCE_LENGTH = "2048"
# TGI's own limit (variable) and what the model was compiled for.
COMPILED = {"MAX_BATCH_SIZE": "HF_BATCH_SIZE", "MAX_TOTAL_TOKENS": "HF_SEQUENCE_LENGTH"}
NUMBERS = (*COMPILED, *COMPILED.values(), "HF_NUM_CORES", "MAX_INPUT_TOKENS", "MAX_INPUT_LENGTH")


class TgiNeuronx(Tgi):
    """Answers invocations as TGI does, with the limits of a compiled model."""

    def __init__(self, environment: Mapping[str, str], model: LanguageModel) -> None:
        for name in NUMBERS:
            given = environment.get(name)
            if given is not None and (not given.isdecimal() or int(given) < 1):
                raise StartError(f"ValueError: invalid literal for int() with base 10: '{given}' ({name})")
        for name, compiled in COMPILED.items():
            if int(environment.get(name, 0)) > int(environment.get(compiled, environment.get(name, 0))):
                raise StartError(
                    f"Exception: Invalid neuron config and env. The provided {name} ({environment[name]}) is higher "
                    f"than the neuron config's {compiled} ({environment[compiled]})"
                )
        total = environment.get("MAX_TOTAL_TOKENS") or environment.get("HF_SEQUENCE_LENGTH") or DEFAULT_SEQUENCE_LENGTH
        given = environment.get("MAX_INPUT_TOKENS") or environment.get("MAX_INPUT_LENGTH") or str(int(total) // 2)
        super().__init__({**environment, "MAX_TOTAL_TOKENS": total, "MAX_INPUT_LENGTH": given}, model)
