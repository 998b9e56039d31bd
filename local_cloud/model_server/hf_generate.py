"""`generate` of Hugging Face transformers: which parameters it takes, what they mean, and how it refuses others.

Source: huggingface/transformers src/transformers/generation (configuration_utils.py, utils.py, logits_process.py). One
prompt counts towards `max_length` in a decoder-only model, and not behind an encoder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from local_cloud.model_server.answer import Kind, read_fields
from local_cloud.model_server.language_model import Generation, LanguageModel, Sampling, count_tokens

DEFAULT_MAX_LENGTH = 20
DEFAULT_TOP_K = 50
NUMBERS: dict[str, Kind] = {
    "max_length": "int",
    "max_new_tokens": "int",
    "min_length": "int",
    "min_new_tokens": "int",
    "do_sample": "bool",
    "temperature": "float",
    "top_k": "int",
    "top_p": "float",
    "repetition_penalty": "float",
    "num_beams": "int",
    "num_return_sequences": "int",
}
OTHERS = frozenset(
    [
        "early_stopping",
        "max_time",
        "stop_strings",
        "num_beam_groups",
        "penalty_alpha",
        "use_cache",
        "cache_implementation",
        "typical_p",
        "min_p",
        "epsilon_cutoff",
        "eta_cutoff",
        "diversity_penalty",
        "encoder_repetition_penalty",
        "length_penalty",
        "no_repeat_ngram_size",
        "bad_words_ids",
        "force_words_ids",
        "renormalize_logits",
        "constraints",
        "forced_bos_token_id",
        "forced_eos_token_id",
        "remove_invalid_values",
        "exponential_decay_length_penalty",
        "suppress_tokens",
        "begin_suppress_tokens",
        "forced_decoder_ids",
        "guidance_scale",
        "output_attentions",
        "output_hidden_states",
        "output_scores",
        "return_dict_in_generate",
        "pad_token_id",
        "bos_token_id",
        "eos_token_id",
        "encoder_no_repeat_ngram_size",
        "decoder_start_token_id",
        "generation_config",
        "prompt_lookup_num_tokens",
        "synced_gpus",
    ]
)


@dataclass(frozen=True)
class Defaults:
    """What a model's own generation configuration says.

    refuses_long_prompts: whether a prompt that leaves no room below `max_length` is an error, as it is since
    transformers 4.38; before, one token was made.
    """

    max_length: int = DEFAULT_MAX_LENGTH
    max_new_tokens: int | None = None
    do_sample: bool = False
    temperature: float = 1.0
    refuses_long_prompts: bool = False


def generate(
    model: LanguageModel,
    prompts: list[str],
    parameters: Mapping[str, Any],
    *,
    encoder_decoder: bool,
    defaults: Defaults | None = None,
) -> list[list[Generation]]:
    """The continuations of each prompt; raises ValueError (and WrongTypeError) with transformers' message."""
    fields = read_fields(parameters, NUMBERS)
    _refuse_unknown(parameters)
    sampling = _sampling(fields, defaults or Defaults())
    copies = fields.get("num_return_sequences", 1)
    if sampling.temperature == 0 and fields.get("num_beams", 1) == 1 and copies != 1:
        raise ValueError(
            f"Greedy methods without beam search do not support `num_return_sequences` different than 1 (got {copies})."
        )
    lengths = [_new_tokens(fields, 0 if encoder_decoder else count_tokens(prompt), defaults) for prompt in prompts]
    return [
        [model.generate(prompt, replace(sampling, max_new_tokens=length)) for _ in range(copies)]
        for prompt, length in zip(prompts, lengths, strict=True)
    ]


def _refuse_unknown(parameters: Mapping[str, Any]) -> None:
    unknown = [name for name in parameters if name not in NUMBERS and name not in OTHERS]
    if unknown:
        raise ValueError(
            f"The following `model_kwargs` are not used by the model: {unknown} (note: typos in the generate arguments "
            "will also show up in this list)"
        )


def _new_tokens(fields: Mapping[str, Any], counted_prompt: int, defaults: Defaults | None) -> int:
    defaults = defaults or Defaults()
    # Where both are set, be it by default, `max_new_tokens` wins.
    if (wanted := fields.get("max_new_tokens", defaults.max_new_tokens)) is not None:
        if wanted <= 0:
            raise ValueError(f"`max_new_tokens` must be greater than 0, but is {wanted}.")
        return int(wanted)
    room = int(fields.get("max_length", defaults.max_length)) - counted_prompt
    if room <= 0 and defaults.refuses_long_prompts:
        raise ValueError(
            f"Input length of input_ids is {counted_prompt}, but `max_length` is set to {room + counted_prompt}. This "
            "can lead to unexpected behavior. You should consider increasing `max_length` or, better yet, setting "
            "`max_new_tokens`."
        )
    return max(room, 1)


def _sampling(fields: Mapping[str, Any], defaults: Defaults) -> Sampling:
    penalty = fields.get("repetition_penalty", 1.0)
    if penalty <= 0:
        raise ValueError(f"`penalty` has to be a strictly positive float, but is {penalty}")
    if fields.get("num_return_sequences", 1) < 1:
        raise ValueError(f"`num_return_sequences` has to be at least 1, but is {fields['num_return_sequences']}.")
    if not fields.get("do_sample", defaults.do_sample):
        return Sampling(temperature=0.0, repetition_penalty=penalty)
    temperature, top_k, top_p = (
        fields.get("temperature", defaults.temperature),
        fields.get("top_k", DEFAULT_TOP_K),
        fields.get("top_p", 1.0),
    )
    if temperature <= 0:
        raise ValueError(
            f"`temperature` (={temperature}) has to be a strictly positive float, otherwise your next token scores "
            "will be invalid. If you're looking for greedy decoding strategies, set `do_sample=False`."
        )
    if top_k < 0:
        raise ValueError(f"`top_k` has to be a strictly positive integer, but is {top_k}")
    if not 0 <= top_p <= 1:
        raise ValueError(f"`top_p` has to be a float > 0 and < 1, but is {top_p}")
    return Sampling(temperature=temperature, top_k=top_k, top_p=top_p, repetition_penalty=penalty)
