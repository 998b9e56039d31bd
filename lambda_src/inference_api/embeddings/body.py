"""The body of POST /embeddings or POST /rerank -> the call that the engine takes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inference_api.embeddings.embedding_call import EmbeddingCall
from inference_api.embeddings.rerank_call import RerankCall
from inference_api.keys.named_key import AuthorizedKey
from inference_api.model.request_body import check_request_body
from inference_api.openai.body import check_model_name
from inference_api.shared.errors import ApiError
from inference_api.shared.openai_facts import OpenAIFacts
from inference_api.shared.settings import settings

MOST_TEXTS = 2048  # as OpenAI's own API
_OF_EMBEDDINGS = ("input", "inputs", "model", "user", "encoding_format", "dimensions", "stream")
_OF_RERANK = ("query", "documents", "texts", "model", "user", "top_n", "return_documents", "stream")


def embedding_call(body: bytes, content_type: str | None, key: AuthorizedKey | None) -> EmbeddingCall:
    """Check a request of POST /embeddings. Raises ApiError 400, 404 `model_not_found`, 413 or 415."""
    document = _read(body, content_type, "input", key)
    facts = settings().openai
    given = document["input"]
    inputs = given if isinstance(given, list) and not isinstance(given[0], int) else [given]
    _check_count(inputs, "input", "texts")
    if not isinstance(inputs[0], str):
        _check_ids(inputs, facts, "input[{}]" if inputs is given else "input")
    encoding = document.get("encoding_format") or "float"
    if encoding not in ("float", "base64"):
        raise _invalid("encoding_format", "must be float or base64")
    return EmbeddingCall(
        inputs=inputs,
        form=facts.embeds,
        more=_of_the_engine(document, _OF_EMBEDDINGS),
        model=settings().model_id,
        size=_size(document.get("dimensions"), facts),
        is_base64=encoding == "base64",
    )


def rerank_call(body: bytes, content_type: str | None, key: AuthorizedKey | None) -> RerankCall:
    """Check a request of POST /rerank. Raises ApiError 400, 404 `model_not_found`, 413 or 415."""
    document = _read(body, content_type, "query", key)
    documents = document.get("documents")
    if not isinstance(documents, list):
        raise _invalid("documents", "must be a list of strings, or of objects with a text")
    if not documents:
        raise ApiError("empty_input", "documents: is empty; send at least one.", field="documents")
    _check_count(documents, "documents", "documents")
    top, shows = document.get("top_n"), document.get("return_documents")
    if top is not None and (type(top) is not int or top < 1):
        raise _invalid("top_n", "must be a whole number of at least 1")
    if not isinstance(shows, bool | None):
        raise _invalid("return_documents", "must be true or false")
    return RerankCall(
        query=document["query"],
        documents=[_text(each, index) for index, each in enumerate(documents)],
        form=settings().openai.reranks,
        more=_of_the_engine(document, _OF_RERANK),
        model=settings().model_id,
        most=len(documents) if top is None else top,
        shows_documents=bool(shows),
    )


def _read(body: bytes, content_type: str | None, name: str, key: AuthorizedKey | None) -> dict[str, Any]:
    deployed = settings()
    of_route = replace(deployed.request_rules, engine="this route", bodies=(name,))
    document = check_request_body(body, content_type, of_route, lambda: True)
    check_model_name(document.get("model"), deployed, key)
    return document


def _of_the_engine(document: Mapping[str, Any], ours: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters that only the engine knows, such as `truncate`."""
    return {name: value for name, value in document.items() if name not in ours and value is not None}


def _check_count(values: list[Any], field: str, noun: str) -> None:
    if len(values) > MOST_TEXTS:
        raise _invalid(field, f"has {len(values)} {noun}; at most {MOST_TEXTS} are taken, so send several requests")


def _check_ids(inputs: list[list[int]], facts: OpenAIFacts, field: str) -> None:
    """Raises ApiError 400 for token ids that the model can't have made."""
    if not facts.takes_ids:
        raise ApiError("invalid_input", "input: this engine takes no token ids; send text.", field="input")
    for index, ids in enumerate(inputs):
        where, highest = field.format(index), max(ids)
        if min(ids) < 0 or (facts.vocabulary and highest >= facts.vocabulary):
            message = (
                f"{where}: {min(ids) if min(ids) < 0 else highest} is no token of this model, whose ids end at "
                f"{(facts.vocabulary or 0) - 1}; send text, or ids of the model's own tokenizer. With LangChain, set "
                "check_embedding_ctx_length=False."
            )
            raise ApiError("invalid_input", message, field=where)
        if facts.max_tokens and len(ids) > facts.max_tokens:
            message = (
                f"This model's maximum context length is {facts.max_tokens} tokens. However, {where} has {len(ids)}; "
                "send a shorter text."
            )
            raise ApiError("context_length_exceeded", message, field=where)


def _size(wanted: Any, facts: OpenAIFacts) -> int | None:
    """Return to how many numbers a vector is cut; None if it stays whole."""
    if wanted is None:
        return None
    if type(wanted) is not int or wanted < 1:
        raise _invalid("dimensions", "must be a whole number of at least 1")
    if wanted == facts.dimensions:
        return None
    whole = f"vectors of {facts.dimensions} numbers" if facts.dimensions else "vectors of one length"
    if not facts.matryoshka:
        raise _invalid("dimensions", f"this model makes {whole}, which lose their meaning if cut; leave it out")
    if facts.dimensions and wanted > facts.dimensions:
        raise _invalid("dimensions", f"this model makes {whole}; ask for at most that")
    return wanted


def _text(document: Any, index: int) -> str:
    field = f"documents[{index}]"
    text = document.get("text") if isinstance(document, dict) else document
    if not isinstance(text, str):
        raise _invalid(field, "must be a string, or an object with a text")
    if not text:
        raise ApiError("empty_input", f"{field}: is empty; send some text.", field=field)
    return text


def _invalid(field: str, rule: str) -> ApiError:
    return ApiError("invalid_parameter", f"{field}: {rule}.", field=field)
