"""Values of parameters that change nothing, whether or not the engine knows the parameter."""

from collections.abc import Mapping
from typing import Any

# From OpenAI's API reference. The last five are parameters of other servers.
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "best_of": (1,),
    "echo": (False,),
    "suffix": ("",),
    "stop": ([], ""),
    "logit_bias": ({},),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "tools": ([],),
    "tool_choice": ("none", "auto"),  # a request with tools has `tools`, too
    "functions": ([],),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "store": (False,),
    "service_tier": ("auto", "default"),
    "reasoning_effort": ("medium",),
    "verbosity": ("medium",),
    "repetition_penalty": (1,),
    "min_p": (0,),
    "typical_p": (1,),
    "min_tokens": (0,),
    "ignore_eos": (False,),
}
# Parameters that never change an answer: who asks, notes for a store, hints for speed, how tools are called.
_WITHOUT_EFFECT = {
    *("user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "prediction"),
    *("parallel_tool_calls",),
}
# Parameters that choose from a list, and mean nothing without it.
_CHOICES = {"tool_choice": "tools", "parallel_tool_calls": "tools", "function_call": "functions"}


def without_empty(document: Mapping[str, Any]) -> dict[str, Any]:
    """Drop members that no engine needs and some refuse: empty lists, objects and texts, plain text as the format.

    TGI reads neither `{"type": "text"}` nor an object of biases (router/src/lib.rs); vLLM refuses a choice of tools
    without tools (entrypoints/openai/protocol.py).
    """
    found = {
        name: value
        for name, value in document.items()
        if value not in ([], {}, "") and (name, value) != ("response_format", {"type": "text"})
    }
    return {
        name: value
        for name, value in found.items()
        if name not in _CHOICES or _CHOICES[name] in found or not asks_for_nothing(name, value)
    }


def asks_for_nothing(name: str, value: Any) -> bool:
    """Whether an engine that does not know the parameter answers as asked."""
    if value is None or name in _WITHOUT_EFFECT:
        return True
    return any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in _NEUTRAL.get(name, ()))
