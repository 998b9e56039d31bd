"""Rules over the parsers that find tool calls and reasoning in a model's answers."""

from collections.abc import Iterator, Mapping

from ....catalog.versions import is_before
from ....deployment.finding import Finding
from ....deployment.nearest import nearest
from ....resolution import Container, Resolution
from ..rule import error

_Parsers = Mapping[str, str]  # names, separated by blanks, by the first version that has them
# vLLM's registries, tool_parsers/__init__.py and reasoning/__init__.py of 0.11.2 to 0.31; `0` = 0.11 or older.
_VLLM_TOOLS: _Parsers = {
    "0": "deepseek_v3 deepseek_v31 ernie45 glm45 granite granite-20b-fc hermes hunyuan_a13b internlm jamba kimi_k2 "
    "llama3_json llama4_json llama4_pythonic longcat minimax minimax_m2 mistral olmo3 openai phi4_mini_json pythonic "
    "qwen3_coder qwen3_xml seed_oss step3 xlam",
    "0.13": "deepseek_v32 gigachat3",
    "0.14": "functiongemma glm47",
    "0.15": "step3p5",
    "0.18": "granite4",
    "0.19": "gemma4",
    "0.20": "deepseek_v4 hy_v3 mimo",
    "0.21": "cohere_command3 cohere_command4 lfm2 poolside_v1",
    "0.22": "apertus",
    "0.23": "minicpm5",
    "0.24": "minimax_m3",
    "0.26": "inkling",
    "0.27": "kimi_k3",
    "0.28": "dots ling3 muse_glimmer",
    "0.29": "hy_v4",
    "0.30": "deepseek_v41 k2_horizon",
}
_VLLM_REASONING: _Parsers = {
    "0": "deepseek_r1 deepseek_v3 ernie45 glm45 granite hunyuan_a13b kimi_k2 minimax_m2 minimax_m2_append_think "
    "mistral olmo3 openai_gptoss qwen3 seed_oss step3",
    "0.13": "holo2",
    "0.15": "step3p5",
    "0.17": "nemotron_v3",
    "0.19": "gemma4",
    "0.20": "deepseek_v4 hy_v3 mimo",
    "0.21": "cohere_command3 cohere_command4 poolside_v1",
    "0.24": "glm47 minimax_m3",
    "0.26": "inkling",
    "0.27": "kimi_k3",
    "0.28": "ling3 muse_glimmer",
    "0.29": "hy_v4",
    "0.30": "deepseek_v41 k2_horizon",
    "0.31": "granite_thinking_parser",
}
# SGLang's choices, function_call_parser.py and reasoning_parser.py of 0.5.5 to 0.5.10.
_SGLANG_TOOLS: _Parsers = {
    "0": "deepseekv3 deepseekv31 glm glm45 gpt-oss kimi_k2 llama3 minimax-m2 mistral pythonic qwen qwen25 qwen3_coder "
    "step3",
    "0.5.6": "deepseekv32",
    "0.5.7": "glm47 interns1 mimo",
    "0.5.8": "gigachat3 hermes lfm2 step3p5 trinity",
}
_SGLANG_REASONING: _Parsers = {
    "0": "deepseek-r1 deepseek-v3 glm45 gpt-oss kimi kimi_k2 minimax minimax-append-think qwen3 qwen3-thinking step3",
    "0.5.7": "interns1 nano_v3",
    "0.5.8": "step3p5",
    "0.5.10": "mimo mistral nemotron_3",
}
_VLLM_KNOWN_BEFORE, _SGLANG_KNOWN_BEFORE = "0.32", "0.5.11"


@error
def parsers_are_known(resolution: Resolution) -> Iterator[Finding]:
    """vLLM and SGLang end at a parser that they do not know, and vLLM at automatic tool choice without a parser.

    Sources: vLLM's api_server.py and cli_args.py, djl-serving's vllm_rb_properties.py, SGLang's server_args.py.
    """
    container = resolution.container
    if container.server == "sglang":
        yield from _unknown(container, "SM_SGLANG_TOOL_CALL_PARSER", _SGLANG_TOOLS)
        yield from _unknown(container, "SM_SGLANG_REASONING_PARSER", _SGLANG_REASONING)
    elif prefix := _prefix(container):
        chooses, name = container.flag(f"{prefix}ENABLE_AUTO_TOOL_CHOICE"), f"{prefix}TOOL_CALL_PARSER"
        if chooses and not container.environment.get(name):
            problem = f"true needs a parser ({name}), without which {container.engine} ends at its start"
            fix = f"name the parser of the model's format, such as {name}: hermes"
            yield Finding(f"serving.environment.{prefix}ENABLE_AUTO_TOOL_CHOICE", problem, fix)
        elif chooses and not container.environment.get(f"{prefix}TOOL_PARSER_PLUGIN"):
            yield from _unknown(container, name, _VLLM_TOOLS)
        if not container.environment.get(f"{prefix}REASONING_PARSER_PLUGIN"):
            yield from _unknown(container, f"{prefix}REASONING_PARSER", _VLLM_REASONING)


def _prefix(container: Container) -> str:
    """Return the prefix of vLLM's options; empty = another engine, or an LMI that does not pass them on."""
    if container.vllm is None:
        return ""
    if container.server == "djl":
        return "OPTION_" if container.passes_options_on else ""
    return "SM_VLLM_"


def _unknown(container: Container, name: str, parsers: _Parsers) -> Iterator[Finding]:
    """Yield a finding if the version of the engine is listed, and has no parser of this name."""
    given, version = container.environment.get(name, ""), container.vllm or container.label
    known_before = _SGLANG_KNOWN_BEFORE if container.server == "sglang" else _VLLM_KNOWN_BEFORE
    is_listed = container.version is not None and not container.version.facts_from and is_before(version, known_before)
    if not given or not is_listed:
        return
    known = {each for first, names in parsers.items() if not is_before(version, first) for each in names.split()}
    if given in known:
        return
    library = "SGLang" if container.server == "sglang" else "vLLM"
    first = next((first for first, names in parsers.items() if given in names.split()), None)
    problem = f"{given!r} is not a parser of {library} {version}{f': it came with {first}' if first else ''}"
    fix = f"use a newer version, or {nearest(given, known)}" if first else f"use {nearest(given, known)}"
    yield Finding(f"serving.environment.{name}", problem, fix)
