"""What a model says of itself at one commit, as a lock file holds it."""

import json
from dataclasses import dataclass
from typing import Any

from .catalog.models import ModelShape

VERSION = 1


class LockError(Exception):
    """A lock file that can't be used; the message is the end of a sentence about the file."""


@dataclass(frozen=True)
class ModelLock:
    """A model of the Hugging Face Hub at one commit.

    revision: as the deployment file names it; None = the newest. packing: the word for a quantization of unknown size;
    None = `shape` says the format.
    """

    model_id: str
    revision: str | None
    commit: str
    shape: ModelShape
    packing: str | None


def read_lock(text: str, name: str) -> ModelLock:
    """name: of the file, for reports. Raises LockError."""
    try:
        content: dict[str, Any] = json.loads(text)
        if content["version"] != VERSION:
            raise LockError(f"has the form {content['version']!r}, and this Slipway reads {VERSION}")
        model_id, commit = content["model"], content["commit"]
        method = (content.get("quantization_config") or {}).get("quant_method")
        facts = {"quant_method": method, **content["facts"], "ids": (model_id,)}
        shape = ModelShape(source=f"{name}, commit {commit[:7]}", **facts)
        return ModelLock(model_id, content["revision"], commit, shape, content["packing"])
    except (KeyError, TypeError, ValueError) as error:
        raise LockError(f"is no lock file ({type(error).__name__}: {error})") from None
