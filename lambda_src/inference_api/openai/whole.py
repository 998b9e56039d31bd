"""A whole answer of the engine or of a job -> OpenAI's object -> chunks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inference_api.openai.call import OpenAICall
from inference_api.openai.parts import read_value
from inference_api.shared import errors
from inference_api.shared.runtime import runtime

# As TGI, and LMI with a rolling batch, say it.
_FINISH_REASONS = {"eos_token": "stop", "stop_sequence": "stop", "": None}


def openai_object(answer: bytes, call: OpenAICall) -> dict[str, Any]:
    """Return the engine's own object with our `model`, or a text completion if the engine answers with texts.

    Raises InvocationError for any other answer.
    """
    value = read_value(answer)
    try:
        return from_value(value, call)
    except (AttributeError, LookupError, TypeError):  # of a form that no engine of ours has
        raise errors.answer_not_openai() from None


def chunks_of(answer: bytes, call: OpenAICall) -> list[dict[str, Any]]:
    """Return a whole answer as the chunks of a stream, with `usage` only if the caller asked for it.

    Raises InvocationError for an answer of no form of ours.
    """
    whole = openai_object(answer, call)
    try:
        return list(as_chunks(whole if call.with_usage else {**whole, "usage": None}))
    except (AttributeError, LookupError, TypeError):  # of a form that no engine of ours has
        raise errors.answer_not_openai() from None


def from_value(value: Any, call: OpenAICall) -> dict[str, Any]:
    """Return OpenAI's object for an answer that is already parsed."""
    if isinstance(value, dict) and isinstance(value.get("choices"), list):
        return in_openai_words(value, call)
    samples = value if isinstance(value, list) else [value]
    # A list for each prompt: our own server, the pipelines of transformers.
    by_prompt = samples if all(isinstance(each, list) and each for each in samples) else [samples]
    texts = [each for of_prompt in by_prompt for each in of_prompt]
    if not texts or not all(isinstance(each, dict) and isinstance(each.get("generated_text"), str) for each in texts):
        raise errors.answer_not_openai()
    whole = text_completion(call, "", None)
    choices = [
        {
            "index": index,
            "text": each["generated_text"].removeprefix(call.echo),
            "logprobs": None,
            "finish_reason": finish_reason(each.get("details") or {}) or "stop",
        }
        for index, each in enumerate(texts)
    ]
    counted = usage_of_details(*([each.get("details") or {} for each in of_prompt] for of_prompt in by_prompt))
    return whole | {"choices": choices} | ({"usage": counted} if counted else {})


def in_openai_words(value: dict[str, Any], call: OpenAICall) -> dict[str, Any]:
    """Return an object or chunk of the engine with our name of the model and OpenAI's reasons to finish."""
    for choice in value["choices"]:
        if isinstance(choice, dict) and choice.get("finish_reason") in _FINISH_REASONS:
            choice["finish_reason"] = _FINISH_REASONS[choice["finish_reason"]]
    value["model"] = call.model
    return value


def text_completion(call: OpenAICall, text: str, reason: str | None, of: str = "") -> dict[str, Any]:
    """Return a text completion, or a chunk of one. of: the id of the completion that the chunk belongs to."""
    return {
        "id": of or f"cmpl-{runtime().new_id()}",
        "object": "text_completion",
        "created": int(runtime().now()),
        "model": call.model,
        "choices": [{"index": 0, "text": text, "logprobs": None, "finish_reason": reason}],
    }


def finish_reason(details: Mapping[str, Any]) -> str | None:
    """Return the reason to finish in OpenAI's words."""
    reason = details.get("finish_reason")
    return _FINISH_REASONS.get(reason, reason) if isinstance(reason, str) else None


def usage_of_details(*by_prompt: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return OpenAI's `usage` from the details of each prompt's samples; None unless prompt and answer are counted.

    TGI, LMI and our own server have such details.
    """
    prompts = [
        details.get("input_length") or details.get("prompt_tokens") or len(details.get("prefill") or [])
        for details, *_ in by_prompt
    ]
    generated: list[Any] = [each.get("generated_tokens") for samples in by_prompt for each in samples]
    if not all(isinstance(each, int) for each in (*prompts, *generated)) or not all(prompts):
        return None
    prompt, completion = sum(prompts), sum(generated)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def tokens_of(value: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the tokens of prompt and answer in an object or chunk; None if it has no `usage`."""
    told = value.get("usage")
    if not isinstance(told, dict) or not isinstance(told.get("prompt_tokens"), int):
        return None
    generated = told.get("completion_tokens")  # llama.cpp and vLLM leave it out while there is none yet
    return told["prompt_tokens"], generated if isinstance(generated, int) else 0


def as_chunks(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the chunks of a stream that would make this object: its choices in order, then its usage."""
    head = {name: value for name, value in whole.items() if name not in ("choices", "usage")}
    if head.get("object") == "chat.completion":
        head["object"] = "chat.completion.chunk"
    for choice in whole["choices"]:
        message = choice.get("message")
        if message is None:
            yield {**head, "choices": [choice]}
            continue
        calls = message.get("tool_calls")
        numbered = {"tool_calls": [{"index": index, **each} for index, each in enumerate(calls)]} if calls else {}
        said = {name: value for name, value in message.items() if value is not None and name != "tool_calls"}
        rest = {name: value for name, value in choice.items() if name not in ("message", "finish_reason")}
        yield {**head, "choices": [{**rest, "delta": said | numbered, "finish_reason": None}]}
        end = {"index": choice.get("index", 0), "delta": {}, "finish_reason": choice.get("finish_reason")}
        yield {**head, "choices": [end]}
    if whole.get("usage"):
        yield {**head, "choices": [], "usage": whole["usage"]}
