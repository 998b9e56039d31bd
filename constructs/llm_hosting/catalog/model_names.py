"""Finds known models whose names resemble an unknown one, which proves nothing about its content."""

import re
from difflib import SequenceMatcher

from ..project import kept_for_project
from .models import ModelShape, model_shape, model_shapes

# Parts of a name by which publishers state the format of weights; `hf` is transformers' format.
_FORMAT = re.compile(r"awq|gptq|gguf|bnb|(nv|mx)?fp[48]|int[48]|[48]bit|w\d+a\d+|quantized|dynamic|hf")
_OF_THE_NETWORK = ("architecture", "layers", "heads", "kv_heads", "head_size", "hidden_size", "vocabulary")
_MISSPELT = 0.85  # least ratio of difflib for single words


@kept_for_project
def nearest_known(hub_id: str) -> str | None:
    """Return the catalog's id with the longest name that is a part of this one; None = there is none.

    A model that is made from another usually keeps its name and adds words.
    """
    name = _bare_name(hub_id)
    near = [known for known in _known() if f"-{_bare_name(known)}-" in f"-{name}-"]
    return max(near, key=lambda known: len(_bare_name(known)), default=None)


@kept_for_project
def probably_meant(hub_id: str) -> str | None:
    """Return the catalog's id that an unknown id misspells; None = it is a different name.

    Numbers (size, version) must be equal, and each word may differ from its counterpart by about one letter: another
    number or word is another model. The owner's words may be left out of the name or repeated in it ("Meta-" of
    meta-llama). The same name with a quite different owner is a copy.
    """
    return next((known for known in _known() if _is_near(hub_id, known)), None)


def quantized_siblings(hub_id: str) -> list[str]:
    """Return the catalog's ids of the same model in packed weights; none if the model is packed or unknown.

    A sibling has the same network, and its name differs only in words for formats and for the owner.
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
    """Return the name without the owner, in lower case, with hyphens between words."""
    return hub_id.lower().rpartition("/")[2].replace("_", "-")


def _is_near(given: str, known: str) -> bool:
    (our_owner, ours), (their_owner, theirs) = map(_words, (given, known))
    without = [[word for word in words if word not in their_owner] for words in (ours, theirs)]
    return _are_same(our_owner, their_owner) and (_are_same(ours, theirs) or _are_same(*without))


def _words(hub_id: str) -> tuple[list[str], list[str]]:
    """Return the words and numbers of the owner, and of the name."""
    owner, _, name = hub_id.lower().rpartition("/")
    return re.findall(r"[a-z]+|\d+", owner), re.findall(r"[a-z]+|\d+", name)


def _are_same(ours: list[str], theirs: list[str]) -> bool:
    pairs = zip(ours, theirs, strict=False)
    return len(ours) == len(theirs) and all(our == their or _is_slip(our, their) for our, their in pairs)


def _is_slip(word: str, known: str) -> bool:
    """Whether only letters in the middle differ; another beginning or end is another word (`bloomz`, `uncased`)."""
    has_ends = word.isalpha() and (word[0], word[-1]) == (known[0], known[-1])
    return has_ends and SequenceMatcher(None, word, known).ratio() >= _MISSPELT
