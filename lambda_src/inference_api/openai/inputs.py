"""OpenAI's completion request -> `inputs` with parameters, for engines that know no `prompt`."""

from collections.abc import Mapping
from typing import Any

from inference_api.openai.neutral import asks_for_nothing
from inference_api.shared.errors import ApiError

# OpenAI's names -> those of each kind of engine. TGI: GenerateParameters of its router; a rolling batch of LMI:
# djl_python/rolling_batch; plain: keywords of transformers' generate; transformers: model_src/generation.
_SHARED = {"max_tokens": "max_new_tokens", "temperature": "temperature", "top_p": "top_p"}
_WORDS: Mapping[str, Mapping[str, str]] = {
    "tgi": {"stop": "stop", "seed": "seed", "frequency_penalty": "frequency_penalty"},
    "rolling-batch": {
        "stop": "stop_sequences",
        "seed": "seed",
        "frequency_penalty": "frequency_penalty",
        "presence_penalty": "presence_penalty",
    },
    "plain": {},
    "transformers": {"stop": "stop", "seed": "seed", "n": "num_return_sequences", "echo": "return_full_text"},
}
_WITH_DETAILS = ("tgi", "rolling-batch", "transformers")
# OpenAI's parameters of a completion. Other names are the engine's own.
_OF_OPENAI = {
    *("n", "best_of", "echo", "logprobs", "suffix", "logit_bias", "stop", "seed"),
    *("frequency_penalty", "presence_penalty"),
}
_OF_THE_ROUTE = ("prompt", "model", "stream", "stream_options", "user")


def as_inputs(document: Mapping[str, Any], kind: str, engine: str) -> dict[str, Any]:
    """Translate a completion request to `inputs`. Names that are not OpenAI's are passed on as they are.

    document: a checked body with `prompt`. kind: see OpenAIFacts.inputs. Raises ApiError 400 for a parameter that the
    engine does not have.
    """
    words, parameters = _SHARED | dict(_WORDS[kind]), {}
    for name, value in document.items():
        if name in _OF_THE_ROUTE or value is None or (name in _OF_OPENAI and asks_for_nothing(name, value)):
            continue
        if name not in words and name in _OF_OPENAI:
            message = f"{name}: {engine} has no such parameter for completions; remove it."
            raise ApiError("invalid_parameter", message, field=name)
        parameters[words.get(name, name)] = [value] if name == "stop" and isinstance(value, str) else value
    if kind in _WITH_DETAILS:
        parameters["details"] = True
    if kind != "transformers":
        _say_whether_to_sample(parameters)
    return {"inputs": _texts_of(document["prompt"], kind, engine), "parameters": parameters}


def _texts_of(prompt: Any, kind: str, engine: str) -> str | list[str]:
    """Return the prompt's text, or a list of several.

    Raises ApiError 400 for token ids, and for several texts if the engine takes one in a request.
    """
    texts = prompt if isinstance(prompt, list) else [prompt]
    problem = ""
    if not isinstance(texts[0], str):
        problem = "takes texts, not ids of tokens; send the text."
    elif len(texts) > 1 and kind != "transformers":
        problem = "takes one text in a request; send the others in requests of their own."
    if problem:
        raise ApiError("invalid_input", f"prompt: {engine} {problem}", field="prompt")
    return texts if len(texts) > 1 else texts[0]


def _say_whether_to_sample(parameters: dict[str, Any]) -> None:
    """Set `do_sample`, because transformers samples only if told to. TGI takes neither temperature 0 nor top_p 1."""
    if parameters.get("temperature") == 0:
        for name in ("temperature", "top_p"):
            parameters.pop(name, None)
        parameters["do_sample"] = False
        return
    if parameters.get("top_p") == 1:
        del parameters["top_p"]
    if "temperature" in parameters or "top_p" in parameters:
        parameters["do_sample"] = True
