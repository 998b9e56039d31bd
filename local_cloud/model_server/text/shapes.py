"""The bodies of answers and refusals by family of engines."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from local_cloud.model_server.contract.answer import EngineRefusedError, RefusedError
from local_cloud.model_server.text import streams
from local_cloud.model_server.text.catalog_row import CatalogRow
from local_cloud.model_server.text.chat_form import LLAMA_CPP_CHATS, SGLANG_CHATS, TGI_CHATS, VLLM_CHATS, ChatForm
from local_cloud.model_server.text.request import TextRequest
from local_cloud.model_server.text.source import Generation
from local_cloud.model_server.text.streams import StreamFormat


@dataclass(frozen=True)
class Shape:
    """How one family of engines answers and refuses.

    outputs: (request, one generation for each prompt) -> the body of an answer to `inputs`.
    error: (status, message) -> the body of an error.
    refusal: (image, error, whether the body had `inputs`) -> the status and body of a refusal.
    overloaded: the status of a refusal when too many requests wait.
    room: the variable for the most concurrent requests, and its default.
    takes_lists: whether `inputs` may be a list of prompts.
    stream: the format of streams; None = the family does not stream.
    takes_ids: whether `prompt` may be token ids.
    chats: the form of tool calls and reasoning.
    """

    outputs: Callable[[TextRequest, Sequence[Generation]], Any]
    error: Callable[[int, str], Any]
    refusal: Callable[[CatalogRow, RefusedError, bool], tuple[int, Any]]
    overloaded: int
    room: tuple[str, int]
    takes_lists: bool = True
    stream: StreamFormat | None = None
    takes_ids: bool = False
    chats: ChatForm = VLLM_CHATS


def shape_of(row: CatalogRow, settings: Mapping[str, str]) -> Shape:
    """The shape of an image with these settings."""
    match row.server:
        case "tgi":
            return TGI
        case "sglang":
            return SGLANG
        case "llama-cpp":
            return LLAMA_CPP
        case "huggingface":
            return HUGGING_FACE_T5 if settings.get("HF_TASK") == "text2text-generation" else HUGGING_FACE
        case "djl" if not row.handler or settings.get("OPTION_ROLLING_BATCH", "disable") != "disable":
            return LMI
        case "djl":
            return DJL_T5 if row.handler == "djl_python.fastertransformer" else DJL_HANDLER
    return OPENAI


def _texts(request: TextRequest, generations: Sequence[Generation], full_text: bool) -> list[str]:
    """The generated texts, with or without their prompts."""
    pairs = zip(request.prompts, generations, strict=True)
    return [prompt + generation.text if full_text else generation.text for prompt, generation in pairs]


def _list(request: TextRequest, generations: Sequence[Generation]) -> Any:
    full_text = bool(request.parameters.get("return_full_text"))
    texts = _texts(request, generations, full_text)
    if not request.parameters.get("details"):
        return [{"generated_text": text} for text in texts]
    return [
        {"generated_text": text, "details": _details(request, generation)}
        for text, generation in zip(texts, generations, strict=True)
    ]


def _list_for_a_list(request: TextRequest, generations: Sequence[Generation]) -> Any:
    outputs = _list(request, generations)
    return outputs if request.is_list else outputs[0]


def _full_texts(request: TextRequest, generations: Sequence[Generation]) -> Any:
    return [{"generated_text": text} for text in _texts(request, generations, full_text=True)]


def _lists_for_a_list(request: TextRequest, generations: Sequence[Generation]) -> Any:
    full_text = bool(request.parameters.get("return_full_text", True))
    outputs = [[{"generated_text": text}] for text in _texts(request, generations, full_text)]
    return outputs if request.is_list else outputs[0]


def _details(request: TextRequest, generation: Generation) -> dict[str, Any]:
    reason = "eos_token" if generation.complete else "length"
    return {
        "finish_reason": "stop_sequence" if generation.stop else reason,
        "generated_tokens": generation.tokens,
        "seed": request.seed or 0,
        "prefill": [],
        "tokens": [],
    }


def _openai_error(status: int, message: str) -> Any:
    kind = "InternalServerError" if status >= 500 else "BadRequestError"
    return {"error": {"message": message, "type": kind, "param": None, "code": status}}


def _tgi_error(status: int, message: str) -> Any:
    return {"error": message, "error_type": {429: "overloaded", 500: "generation"}.get(status, "validation")}


def _lmi_error(status: int, message: str) -> Any:
    return {"code": status, "error": message}


def _handler_error(status: int, message: str) -> Any:
    return {"code": status, "message": "prediction failure", "error": message}


def _hugging_face_error(status: int, message: str) -> Any:
    return {"code": status, "type": "InternalServerException", "message": message}


def _always(
    status: int, error: Callable[[int, str], Any]
) -> Callable[[CatalogRow, RefusedError, bool], tuple[int, Any]]:
    return lambda row, refused, is_inputs: (status, error(status, str(refused)))


def _openai_refusal(row: CatalogRow, refused: RefusedError, is_inputs: bool) -> tuple[int, Any]:
    if not isinstance(refused, EngineRefusedError):
        return 400, _openai_error(400, str(refused))
    about = {"type": refused.kind, "param": refused.param, "code": refused.status}
    return refused.status, {"error": {"message": str(refused), **about}}


def _lmi_refusal(row: CatalogRow, refused: RefusedError, is_inputs: bool) -> tuple[int, Any]:
    """A refusal by LMI, from each version's input_parser, rolling_batch and lmi_vllm/request_response_utils.

    Since vLLM 0.10.1 errors have another form, on which LMI 16 and 17 fail. From LMI 18 on they are a 500, for `inputs`
    from LMI 26 on.
    """
    if "served_model_name" not in row.variables:  # a rolling batch
        reason = "exception occurred during rolling batch inference"
        if not isinstance(refused, EngineRefusedError):
            reason = f"Input Parsing failed. Ensure that the request payload is valid. {refused}"
        return 424, _lmi_error(424, reason)
    if not isinstance(refused, EngineRefusedError):
        return 424, _lmi_error(424, f"Input parsing failed: {refused}")
    named = re.search(r"lmi(\d+)", row.tag)
    lmi = int(named[1]) if named else 99
    if lmi < 16 and not is_inputs:
        return refused.status, _lmi_error(refused.status, str(refused))
    if lmi < (26 if is_inputs else 18):
        message = "Async Inference Failure service.invoke_handler_async() failure"
        return 424, {"code": 424, "message": message, "properties": {}, "content": {}}
    about = f"type={refused.kind!r}, param={refused.param!r}, code={refused.status}"
    return 500, _lmi_error(500, f"error=ErrorInfo(message={str(refused)!r}, {about})")


TGI = Shape(
    outputs=_list,
    error=_tgi_error,
    refusal=_always(422, _tgi_error),
    overloaded=429,
    room=("MAX_CONCURRENT_REQUESTS", 128),
    takes_lists=False,
    stream=streams.TGI_EVENTS,
    chats=TGI_CHATS,
)
LMI = Shape(
    outputs=_list_for_a_list,
    error=_lmi_error,
    refusal=_lmi_refusal,
    overloaded=503,
    room=("SERVING_JOB_QUEUE_SIZE", 1000),
    stream=streams.JSON_LINES,
    takes_ids=True,
)
DJL_HANDLER = Shape(
    outputs=_full_texts,
    error=_handler_error,
    refusal=_always(424, _handler_error),
    overloaded=503,
    room=("SERVING_JOB_QUEUE_SIZE", 1000),
)
DJL_T5 = replace(DJL_HANDLER, outputs=_list)
HUGGING_FACE = Shape(
    outputs=_lists_for_a_list,
    error=_hugging_face_error,
    refusal=_always(400, _hugging_face_error),
    overloaded=503,
    room=("", 100),
)
HUGGING_FACE_T5 = replace(HUGGING_FACE, outputs=_list)
# vLLM, SGLang and llama.cpp take no `inputs`, and queue every request.
OPENAI = Shape(
    outputs=_list_for_a_list,
    error=_openai_error,
    refusal=_openai_refusal,
    overloaded=503,
    room=("", 10_000),
    stream=streams.EVENTS,
    takes_ids=True,
)
SGLANG = replace(OPENAI, chats=SGLANG_CHATS)
LLAMA_CPP = replace(OPENAI, chats=LLAMA_CPP_CHATS)
