"""The facts of a model, from its lock and the catalog together."""

from dataclasses import replace

from ..catalog.models import ModelShape, model_shape
from ..deployment.lock import ModelLock
from .formats import BYTES_PER_PARAMETER

_FORMAT = {"quantization", "quantization_block", "quant_method"}


def known_shape(model_id: str, lock: ModelLock | None) -> ModelShape | None:
    """Return each fact from the model's lock, else from the catalog's row of this id; None = there is neither."""
    row = model_shape(model_id)
    if lock is None or lock.model_id != model_id:
        return row
    if row is None:
        return lock.shape
    kept = _FORMAT if _is_plain(lock.shape) else set()
    missing = [name for name, fact in vars(lock.shape).items() if fact in (None, "", {}) and name not in kept]
    return replace(lock.shape, **{name: getattr(row, name) for name in missing})


def _is_plain(shape: ModelShape) -> bool:
    """Whether the size of the files proves that they are not quantized: users convert models under the same id."""
    size, parameters, each = (
        shape.weights_in_gb,
        shape.parameters_in_billions,
        BYTES_PER_PARAMETER.get(shape.dtype or ""),
    )
    return bool(size and parameters and each) and 0.9 < (size or 0) / ((parameters or 1) * (each or 1)) < 1.2
