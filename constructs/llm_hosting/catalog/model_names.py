"""Names of repositories that are like those of known models, which proves nothing about their content."""

import re
from difflib import SequenceMatcher
from functools import cache

from .models import ModelShape, model_shape, model_shapes

# How publishers name the format of weights, by the parts of a name; `hf` is that of transformers.
_FORMAT = re.compile(r"awq|gptq|gguf|bnb|(nv|mx)?fp[48]|int[48]|[48]bit|w\d+a\d+|quantized|dynamic|hf")
_OF_THE_NETWORK = ("architecture", "layers", "heads", "kv_heads", "head_size", "hidden_size", "vocabulary")
_MISSPELT = 0.85  # difflib's ratio, of single words


@cache
def nearest_known(hub_id: str) -> str | None:
    """The catalog's id whose whole name is a part of this one, the longest; None = there is none.

    A model that was made from another usually keeps its name and adds words of its own.
    """
    name = _bare_name(hub_id)
    near = [known for known in _known() if f"-{_bare_name(known)}-" in f"-{name}-"]
    return max(near, key=lambda known: len(_bare_name(known)), default=None)


@cache
def probably_meant(hub_id: str) -> str | None:
    """The catalog's id that an unknown one misspells; None = it is a name of its own.

    Numbers (size, version) have to agree, and each word with its counterpart but for a letter or so: another number or
    word is another model. The owner's words may be left out of the name or repeated there ("Meta-" of meta-llama). The
    same name below quite another owner is somebody's copy.
    """
    return next((known for known in _known() if _is_near(hub_id, known)), None)


def quantized_siblings(hub_id: str) -> list[str]:
    """The catalog's ids of the same model in packed weights; none for a model that is packed, or not in the catalog.

    The network is the same, and so is the name but for words of formats and of the owner.
    """
    shape = model_shape(hub_id)
    if shape is None or shape.quantization:
        return []
    owner = set(_words(hub_id)[0])
    return [
        known
        for other in model_shapes()
        if other.quantization and _is_same_network(shape, other)
        for known in other.ids
        if _plain_name(known, owner) == _plain_name(hub_id, owner)
    ]


def _is_same_network(one: ModelShape, other: ModelShape) -> bool:
    return all(getattr(one, fact) == getattr(other, fact) for fact in _OF_THE_NETWORK)


def _plain_name(hub_id: str, owner: set[str]) -> list[str]:
    parts = re.split(r"[-.]", _bare_name(hub_id))
    return [part for part in parts if part not in owner and not _FORMAT.fullmatch(part)]


def _known() -> list[str]:
    return [known for shape in model_shapes() for known in shape.ids]


def _bare_name(hub_id: str) -> str:
    """Without the owner, in lower case, its words separated by hyphens."""
    return hub_id.lower().rpartition("/")[2].replace("_", "-")


def _is_near(given: str, known: str) -> bool:
    (our_owner, ours), (their_owner, theirs) = map(_words, (given, known))
    without = [[word for word in words if word not in their_owner] for words in (ours, theirs)]
    return _are_same(our_owner, their_owner) and (_are_same(ours, theirs) or _are_same(*without))


def _words(hub_id: str) -> tuple[list[str], list[str]]:
    """Words and numbers of the owner, and of the name."""
    owner, _, name = hub_id.lower().rpartition("/")
    return re.findall(r"[a-z]+|\d+", owner), re.findall(r"[a-z]+|\d+", name)


def _are_same(ours: list[str], theirs: list[str]) -> bool:
    pairs = zip(ours, theirs, strict=False)
    return len(ours) == len(theirs) and all(our == their or _is_slip(our, their) for our, their in pairs)


def _is_slip(word: str, known: str) -> bool:
    """Whether letters between the first and the last differ; other ends are other words (`bloomz`, `uncased`)."""
    has_ends = word.isalpha() and (word[0], word[-1]) == (known[0], known[-1])
    return has_ends and SequenceMatcher(None, word, known).ratio() >= _MISSPELT
