"""Tells whether a model brings a tokenizer and a chat template, and whether the tokenizer's file is whole."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from slipway.weights.source import BrokenWeightsError, Source, broken, demand_no_disguise

# By the names of transformers, SentencePiece, tiktoken and mistral-common, or code of the model's own.
_TOKENIZER = re.compile(r"tokenizer|tokenization_|vocab|merges|tekken|spiece|sentencepiece|bpe|\.(tiktoken|spm|model)$")
_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_VOCABULARIES = ("tokenizer.json", "tokenizer.model", "tekken.json", "spiece.model", "vocab.json")  # the first is read
_MISTRALS_OWN = re.compile(r"tekken\.json|tokenizer\.model\.v\d+(m\d+)?")  # its library writes chats by code

_FEW_BYTES = 100


def has_tokenizer(names: Collection[str], metadata: Mapping[str, Any]) -> bool:
    """Whether the model brings a tokenizer. names: of the files. metadata: of a GGUF file, which holds its own;
    empty = there is none.
    """
    if metadata:
        return "tokenizer.ggml.model" in metadata or "tokenizer.ggml.tokens" in metadata
    return any(_TOKENIZER.search(name.lower()) for name in names if "/" not in name)


def has_chat_template(names: Collection[str], tokenizer: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """Whether the model brings a chat template. tokenizer: the content of tokenizer_config.json. names, metadata: as
    in `has_tokenizer`.
    """
    in_files = any(name in _TEMPLATES or _MISTRALS_OWN.fullmatch(name) for name in names)
    return bool(tokenizer.get("chat_template") or metadata.get("tokenizer.chat_template") or in_files)


def broken_vocabulary(source: Source, sizes: Mapping[str, int]) -> tuple[str, BrokenWeightsError] | None:
    """Return the path and the problem of the vocabulary if its file is empty, cut or another thing; None = it is whole.

    sizes: in bytes by path. Also raises the errors of `read`.
    """
    path = next((name for name in _VOCABULARIES if name in sizes), None)
    if path is None:
        return None
    size = sizes[path]
    try:
        if not size:
            raise broken(source, path, "it is empty")
        begin = source.read(path, 0, min(size, _FEW_BYTES))
        demand_no_disguise(source, path, begin)
        end = source.read(path, max(0, size - _FEW_BYTES), min(size, _FEW_BYTES)) if path.endswith(".json") else b"}"
        if not end.rstrip().endswith(b"}"):
            raise broken(source, path, "it is not JSON, or is cut")
    except BrokenWeightsError as error:
        return path, error
    return None
