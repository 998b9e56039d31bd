"""Tells whether a model brings a tokenizer and a chat template."""

import re
from collections.abc import Collection, Mapping
from typing import Any

# By the names of transformers, SentencePiece, tiktoken and mistral-common, or code of the model's own.
_TOKENIZER = re.compile(
    r"tokenizer|tokenization_|vocab|merges|tekken|spiece|sentencepiece|special_tokens|added_tokens|bpe"
    r"|\.(tiktoken|spm|model)$"
)
_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_MISTRALS_OWN = re.compile(r"tekken\.json|tokenizer\.model\.v\d+(m\d+)?")  # its library writes chats by code


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
