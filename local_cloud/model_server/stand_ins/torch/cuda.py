"""No GPU; handlers with one process per GPU may still name theirs."""

_device = 0


def is_available() -> bool:
    """This machine computes on its processor."""
    return False


def set_device(device: int) -> None:
    """The GPU of this rank."""
    global _device
    _device = device


def current_device() -> int:
    """The GPU of this rank."""
    return _device
