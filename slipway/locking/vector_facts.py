"""Facts of a model that makes vectors or scores, from the files of sentence-transformers and from its labels."""

from typing import Any

from slipway.locking.config_values import Config, mapping, number
from slipway.locking.model_files import ModelFiles, read_json

_POOLING = "1_Pooling/config.json"
_LENGTH = ("sentence_bert_config.json", "sentence_roberta_config.json", "sentence_xlm-roberta_config.json")
# In 1_Pooling/config.json, with our words.
_WORDS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last-token",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean-sqrt-len",
    "pooling_mode_weightedmean_tokens": "weighted-mean",
}
_COUNTS_FROM_PADDING = ("camembert", "roberta", "xlm-roberta")


def vector_facts(model: ModelFiles, config: Config) -> dict[str, Any]:
    """Return the facts of `ModelShape` about vectors and scores, and the longest text if a file limits it.

    Empty for a model that has neither such files nor labels. Raises the errors of `read_json`.
    """
    pooling = read_json(model, _POOLING)
    words = [word for name, word in _WORDS.items() if pooling.get(name) is True]
    labels = mapping(config.get("id2label"))
    is_classifier = str(config.get("architectures")).endswith("Classification']")
    facts = {
        "pooling": "-and-".join(words) or None,
        "vector_size": number(pooling, "word_embedding_dimension") if pooling else None,
        "matryoshka": bool(config.get("is_matryoshka") or config.get("matryoshka_dimensions")) or None,
        "labels": len(labels) if labels and is_classifier else None,
        "context": _longest(model, config),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _longest(model: ModelFiles, config: Config) -> int | None:
    """Return the longest text, which engines take from sentence-transformers first; None = the context."""
    given = next((found for name in _LENGTH if (found := number(read_json(model, name), "max_seq_length"))), None)
    positions = number(config, "max_position_embeddings")
    if given or config.get("model_type") not in _COUNTS_FROM_PADDING or positions is None:
        return given
    return positions - (number(config, "pad_token_id") or 0) - 1  # positions begin behind that of the padding
