"""No GPU, but handlers that run one process per GPU may say which one is theirs."""

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
