"""CUDA without a GPU; handlers with one process per GPU may still name theirs."""

_device = 0


def is_available() -> bool:
    """False: this machine computes on its processor."""
    return False


def set_device(device: int) -> None:
    """Set the GPU of this rank."""
    global _device
    _device = device


def current_device() -> int:
    """The GPU of this rank."""
    return _device
