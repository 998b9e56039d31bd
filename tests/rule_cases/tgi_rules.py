"""Of TGI's limits."""

from rule_cases import Broken, Kept
from rule_cases.option_rules import LLAMA, neuron, tgi

BROKEN = [
    Broken(
        "tgi-types",
        "error",
        "serving.environment.DTYPE",
        tgi("2.2.0", DTYPE="fp16"),
        "'fp16' is no type of TGI; use float16 or bfloat16",
    ),
    Broken(
        "variable-is-of-version",
        "warning",
        "serving.environment.MESSAGES_API_ENABLED",
        tgi("2.4.0", MESSAGES_API_ENABLED="true"),
        "has no effect on TGI 2.4.0: it is read from 1.4 to 2.3",
    ),
    Broken(
        "variable-is-of-version",
        "warning",
        "serving.environment.MAX_INPUT_LENGTH",
        tgi("3.0.1", MAX_INPUT_LENGTH="2000"),
        "is called MAX_INPUT_TOKENS since TGI 3; rename it",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_INPUT_LENGTH",
        tgi("1.4.0", MAX_INPUT_LENGTH="2048"),
        "2,048 tokens of input leave none of 2,048 (MAX_TOTAL_TOKENS) for the answer; TGI wants input < total: use "
        "2,047 or less",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_BATCH_PREFILL_TOKENS",
        tgi("1.4.0", MAX_INPUT_LENGTH="4097", MAX_TOTAL_TOKENS="4200"),
        "4,096 is less than the longest input, 4,097 (MAX_INPUT_LENGTH), at which TGI ends; use 4,097 or more",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_BATCH_TOTAL_TOKENS",
        tgi("2.0.2", MAX_TOTAL_TOKENS="2048", MAX_BATCH_TOTAL_TOKENS="2047"),
        "2,047 is less than MAX_TOTAL_TOKENS, 2,048",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_INPUT_LENGTH",
        tgi("2.0.2", MAX_INPUT_LENGTH="2000", MAX_INPUT_TOKENS="2000"),
        "is refused beside MAX_INPUT_TOKENS, its new name; remove one",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_TOTAL_TOKENS",
        neuron("tgi-neuronx", environment={"HF_SEQUENCE_LENGTH": "2048", "MAX_TOTAL_TOKENS": "4096"}),
        "4,096 is more than the 2,048 that the model is compiled for (HF_SEQUENCE_LENGTH); use 2,048",
    ),
    Broken(
        "tgi-limits",
        "error",
        "serving.environment.MAX_INPUT_LENGTH",
        neuron("tgi-neuronx", environment={"MAX_INPUT_LENGTH": "2048", "MAX_TOTAL_TOKENS": "2048"}),
        "2,048 tokens of input leave none of 2,048 (MAX_TOTAL_TOKENS) for the answer",
    ),
]

KEPT = [
    Kept("tgi-types", tgi("2.2.0", DTYPE="bfloat16")),
    Kept("tgi-limits", tgi("3.0.1", MAX_INPUT_TOKENS="3000", MAX_TOTAL_TOKENS="4000", MAX_BATCH_PREFILL_TOKENS="2048")),
    Kept("variable-is-of-version", tgi("2.3.1", MESSAGES_API_ENABLED="true")),
    Kept("variable-is-of-version", tgi("2.4.0", MAX_INPUT_LENGTH="2000")),
    Kept("tgi-limits", neuron("tgi-neuronx", environment={"HF_SEQUENCE_LENGTH": "4096", "MAX_TOTAL_TOKENS": "4096"})),
    Kept("tgi-limits", tgi("1.4.0", MAX_INPUT_LENGTH="2047")),
    Kept("tgi-limits", tgi("1.4.0", MAX_INPUT_LENGTH="4096", MAX_TOTAL_TOKENS="4097")),
    Kept("tgi-limits", tgi("1.4.0", MAX_INPUT_LENGTH="8k")),
    Kept("tgi-limits", tgi("2.0.2", MAX_TOTAL_TOKENS="2048", MAX_BATCH_TOTAL_TOKENS="2048")),
    Kept("tgi-limits", {"model": LLAMA, "serving": {"engine": "tgi", "version": "1.4.0", "max_model_len": 8192}}),
    Kept(  # the limit by its new name keeps away the one that we would derive
        "tgi-limits",
        {
            "model": LLAMA,
            "serving": {
                "engine": "tgi",
                "version": "2.0.2",
                "max_model_len": 4096,
                "environment": {"MAX_INPUT_TOKENS": "4000"},
            },
        },
    ),
]
