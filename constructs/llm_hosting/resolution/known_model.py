"""The facts of a model, from its lock and the catalog together."""

from dataclasses import replace

from ..catalog.models import ModelShape, model_shape
from ..deployment.lock import ModelLock

# A lock without them says that the files are plain.
_FORMAT = ("quantization", "quantization_block", "quant_method")


def known_shape(model_id: str, lock: ModelLock | None) -> ModelShape | None:
    """Return each fact from the model's lock, else from the catalog's row of this id; None = there is neither.

    The versions that the row needs are those of the newest commit, so a lock of a pinned revision goes without.
    """
    row = model_shape(model_id)
    if lock is None or lock.model_id != model_id:
        return row
    stated = lock.shape
    if row is None:
        return stated
    kept = {"needs"} if lock.revision else set()
    kept |= set() if lock.packing else {*_FORMAT}
    left = {name: value for name, value in vars(row).items() if getattr(stated, name) in (None, "", {})}
    return replace(stated, **{name: value for name, value in left.items() if name not in kept})
