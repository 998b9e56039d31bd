"""Rules over the values of options: one value for each option, and texts that an engine can read."""

import json
import re
from collections.abc import Iterator

from ....catalog.versions import is_before
from ....deployment.finding import Finding
from ....resolution import Container, Resolution
from ....resolution.adapter_variables import AT_ONCE, PREFIXES, RANKS
from ..rule import error

_NAMES_OF_VLLM = {
    "OPTION_TENSOR_PARALLEL_SIZE": "use serving.tensor_parallel_degree",
    "OPTION_PIPELINE_PARALLEL_SIZE": "remove it",
    "OPTION_MAX_NUM_SEQS": "use serving.max_batch_size",
}
_STAGES_OF_LMI, _REFUSES_STAGES_FROM = ("OPTION_PIPELINE_PARALLEL_DEGREE", "PIPELINE_PARALLEL_DEGREE"), "0.30"
# vLLM reads these as JSON objects (its arg_utils.py, 0.8.4 to 0.31); it takes other texts for some of the first ones.
_JSON_IF_IN_BRACES = ("ADDITIONAL_CONFIG", "COMPILATION_CONFIG", "HF_OVERRIDES", "KV_TRANSFER_CONFIG")
_JSON = ("SPECULATIVE_CONFIG", "MM_PROCESSOR_KWARGS", "OVERRIDE_GENERATION_CONFIG", "MEDIA_IO_KWARGS")
_LIMITS = "LIMIT_MM_PER_PROMPT"
_JSON_OF_SGLANG = "JSON_MODEL_OVERRIDE_ARGS"
_READS_JSON_FROM = "0.8.4"
_PAIRS_GONE_FROM = "0.11"  # from here on vLLM takes JSON alone; between the two bounds it takes some texts of pairs
_LIMITS_BY_PAIRS_BEFORE = "0.8"  # vLLM's nullable_kvs; LMI's own parser before it passed options on
_PAIRS = re.compile(r"\s*\w+\s*=\s*\d+\s*(,\s*\w+\s*=\s*\d+\s*)*")
_WITH_UNIT = re.compile(r"\b(\d+(?:\.\d+)?)[kKmMgGtT]\b")  # `80m` for 80 million: newer vLLM takes it within JSON
_DTYPE, _DTYPES = "SM_VLLM_DTYPE", ("auto", "bfloat16", "float", "float16", "float32", "half")
_OTHER_RANKS_BEFORE = "0.11"  # 1 and 320 came before, other versions may lack them


@error
def option_has_one_value(resolution: Resolution) -> Iterator[Finding]:
    """LMI ends at vLLM's own name of the degree, the stages or the batch size: it compares the text with a number.

    Source: djl-serving's vllm_rb_properties.py.
    """
    container = resolution.container
    if container.server != "djl" or not container.runs_vllm or not container.passes_options_on:
        return
    for name, fix in _NAMES_OF_VLLM.items():
        if (value := container.environment.get(name)) is not None:
            problem = f"{value!r} is refused: LMI compares this text with the number of its own option, and ends"
            yield Finding(f"serving.environment.{name}", problem, fix)


@error
def lmi_runs_one_stage(resolution: Resolution) -> Iterator[Finding]:
    """From 0.30 on LMI ends if vLLM is to have more than one pipeline stage (vllm_rb_properties.py)."""
    container = resolution.container
    is_old = container.label is None or is_before(container.label, _REFUSES_STAGES_FROM)
    if container.server != "djl" or not container.runs_vllm or container.runs_own_branch or is_old:
        return
    name = next((name for name in _STAGES_OF_LMI if container.number(name)), "")
    if (stages := container.number(name) or 1) != 1:
        problem = f"{stages:g} pipeline stages are refused by LMI's vLLM"
        yield Finding(
            f"serving.environment.{name}", problem, "remove it; use serving.tensor_parallel_degree, or engine vllm"
        )


@error
def option_can_be_parsed(resolution: Resolution) -> Iterator[Finding]:
    """vLLM and SGLang end at their start if they can't read the JSON of an option (vLLM's arg_utils.py)."""
    container = resolution.container
    prefix = PREFIXES.get(container.server, "")
    for name in (*_JSON_IF_IN_BRACES, *_JSON, _LIMITS, _JSON_OF_SGLANG):
        text = container.environment.get(f"{prefix}{name}", "").strip()
        if text in ("", "None") or _is_readable(container, name, text):
            continue
        by_pairs = name == _LIMITS and is_before(container.vllm, _LIMITS_BY_PAIRS_BEFORE)
        form = "pairs, such as image=4" if by_pairs else 'a JSON object with double quotes, such as {"name": 1}'
        problem = f"{text[:60]!r} can't be read by {container.engine} {container.label or ''}".rstrip()
        yield Finding(f"serving.environment.{prefix}{name}", problem, f"use {form}")


@error
def dtype_can_be_parsed(resolution: Resolution) -> Iterator[Finding]:
    """vLLM's own server takes no other words for the type than those of its ModelDType (config/model.py)."""
    container = resolution.container
    given = container.environment.get(_DTYPE, "")
    if container.engine == "vllm" and given and given.lower() not in _DTYPES:
        words = f"{', '.join(_DTYPES[:-1])} or {_DTYPES[-1]}"
        yield Finding(f"serving.environment.{_DTYPE}", f"{given[:60]!r} is not a type of vLLM", f"use {words}")


@error
def adapters_fit_options(resolution: Resolution) -> Iterator[Finding]:
    """vLLM takes certain ranks of LoRA adapters, and keeps at least as many in memory as it uses (config/lora.py)."""
    container = resolution.container
    prefix, most = PREFIXES.get(container.server, ""), AT_ONCE.get(container.server)
    if container.vllm is None or container.runs_own_branch or not container.flag(f"{prefix}ENABLE_LORA"):
        return
    rank, kept = container.number(f"{prefix}MAX_LORA_RANK"), container.number(f"{prefix}MAX_CPU_LORAS")
    used = container.number(f"{prefix}MAX_LORAS") or most
    if rank is not None and rank not in RANKS and not is_before(container.vllm, _OTHER_RANKS_BEFORE):
        near = next((each for each in RANKS if each >= rank), RANKS[-1])
        problem = f"{rank:g} is not a rank that vLLM takes ({', '.join(map(str, RANKS))})"
        yield Finding(f"serving.environment.{prefix}MAX_LORA_RANK", problem, f"use {near}")
    if kept is not None and used is not None and kept < used:
        problem = f"{kept:g} is less than the {used:g} adapters that are used at once ({prefix}MAX_LORAS)"
        yield Finding(f"serving.environment.{prefix}MAX_CPU_LORAS", problem, f"use {used:g} or more")


def _is_readable(container: Container, name: str, text: str) -> bool:
    """Whether the engine can read the text; True if it may."""
    if container.server == "sglang":
        return name != _JSON_OF_SGLANG or _is_object(text)
    if container.vllm is None or container.runs_own_branch or name == _JSON_OF_SGLANG:
        return True
    if name == _LIMITS and is_before(container.vllm, _LIMITS_BY_PAIRS_BEFORE):
        return _PAIRS.fullmatch(text) is not None
    if is_before(container.vllm, _READS_JSON_FROM):
        return True
    in_braces = text.startswith("{") and text.endswith("}")
    takes_others = name in _JSON_IF_IN_BRACES or is_before(container.vllm, _PAIRS_GONE_FROM)
    return takes_others if not in_braces else _is_object(text)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(_WITH_UNIT.sub(r"\1", text)), dict)
    except (ValueError, RecursionError):
        return False
