"""The facts that a model's own files state, as a lock file holds them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from ..catalog.models import ModelShape
from ..catalog.vision import problems_of_vision
from .printable import printable

VERSION = 1
HUB = "Hugging Face Hub"  # a source of facts; the others are a prefix in S3 and "folder"
_LARGEST = 1e12  # no fact is larger


class LockError(Exception):
    """The lock file can't be used; the message ends a sentence that begins with the file's name."""


@dataclass(frozen=True)
class AdapterLock:
    """The facts of one LoRA adapter, as slipway.weights.adapter reads them.

    source: as the deployment file names it.
    commit: of the Hub; None = nobody states it.
    base, base_revision: None = not stated. base may be a path of the machine that trained the adapter.
    rank: the largest of any module.
    target_modules: names, or a pattern.
    dtype: safetensors' name of the weights' type. bytes: of the weights' file.
    layers: one more than the largest number of an adapted layer; 0 = not known.
    modules: inputs and outputs of each kind of adapted module.
    others: names of some tensors that are not of LoRA.
    """

    source: str
    commit: str | None
    base: str | None
    base_revision: str | None
    rank: Annotated[int, Field(gt=0)]
    alpha: float
    target_modules: tuple[str, ...] | str
    modules_to_save: tuple[str, ...]
    use_dora: bool
    dtype: str
    bytes: Annotated[int, Field(gt=0)]
    layers: Annotated[int, Field(ge=0)]
    modules: Mapping[str, tuple[int, int]]
    others: tuple[str, ...]
    files: Mapping[str, Annotated[str, Field(pattern=r"^\d+ ")]]


@dataclass(frozen=True)
class ModelLock:
    """The facts of one model at one commit.

    revision: as the deployment file names it; None = the newest.
    source: `HUB`, the prefix in S3, or "folder".
    commit: None = nobody states the commit of the files.
    packing: the word for a quantization of unknown size; None = `shape` holds the format.
    files: size in bytes and checksum, by path or for all shards of a model together.
    has_own_code: code lies beside the weights, for libraries that have none for the model.
    has_tokenizer: None = the lock does not say.
    unreadable: files of the tokenizer that are empty, cut or not what their name says.
    modules: the last parts of the names of the model's weights with two or more dimensions, such as `q_proj`; empty =
    not known.
    adapters: by the names in the deployment file.
    """

    model_id: str
    revision: str | None
    source: str
    commit: str | None
    shape: ModelShape
    packing: str | None
    files: Mapping[str, Annotated[str, Field(pattern=r"^\d+ ")]]
    has_own_code: bool
    has_tokenizer: bool | None
    unreadable: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    adapters: Mapping[str, AdapterLock] = field(default_factory=dict)


@cache
def _lock() -> TypeAdapter[ModelLock]:
    return TypeAdapter(ModelLock)


def read_lock(text: str, name: str) -> ModelLock:
    """Read the text of a lock file. name: the name of the file, for reports. Raises LockError."""
    try:
        content: dict[str, Any] = printable(json.loads(text))
        if content["version"] != VERSION:
            raise LockError(f"has version {content['version']!r}, but this Slipway reads version {VERSION}")
        return lock_of(content, name)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise LockError(f"is not a lock file ({type(error).__name__}: {error})") from None


def lock_of(content: dict[str, Any], name: str) -> ModelLock:
    """Return the lock with this content. name: the source of the facts, for reports.

    Raises LockError for impossible facts, and KeyError or TypeError for content of another shape.
    """
    model_id, commit, source = content["model"], content.get("commit"), content.get("source", HUB)
    if commit is not None and not re.fullmatch(r"[\w.-]{1,64}", commit):
        raise LockError(f"names the commit {commit!r}, which can't be one")
    origin = f"{name}, commit {commit[:7]}" if commit else name if name == source else f"{name}, of {source}"
    facts = {**_beside_facts(content), **content["facts"]}
    for fact, value in facts.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if fact not in ModelShape.__dataclass_fields__ or (is_number and not 0 <= value < _LARGEST):
            raise LockError(f"holds an impossible fact: {fact} is {value!r:.40}")
    lock = {
        "model_id": model_id,
        "revision": content.get("revision"),
        "source": source,
        "commit": commit,
        "shape": {**facts, "ids": [model_id], "source": origin},
        "packing": content.get("packing"),
        "files": content.get("files") or {},
        "has_own_code": content.get("custom_code") or False,
        "has_tokenizer": content.get("tokenizer"),
        "unreadable": content.get("unreadable") or [],
        "modules": content.get("modules") or [],
        "adapters": content.get("adapters") or {},
    }
    try:
        read = _lock().validate_json(json.dumps(lock), strict=True)
    except ValidationError as error:
        wrong = error.errors()[0]
        place = ".".join(str(each) for each in wrong["loc"] if each != "shape")
        raise LockError(f"holds an impossible fact: {place}: {wrong['msg']}") from None
    for place, problem in problems_of_vision(read.shape.vision) if read.shape.vision else ():
        raise LockError(f"holds an impossible fact: {place}: {problem}")
    return read


def _beside_facts(content: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that a lock holds outside `facts`, or within parts of config.json."""
    quantized, rope = (content.get(name) or {} for name in ("quantization_config", "rope"))
    return {
        "quant_method": quantized.get("quant_method"),
        "rope": rope.get("rope_type", rope.get("type")),
        "chat_template": content.get("chat_template"),
        "model_type": content.get("model_type"),
        "wrapper": content.get("wrapper"),
    }
