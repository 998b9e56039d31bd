"""Stands in for the part of torch that the handlers use: types, seeds, devices."""

import contextlib
from collections.abc import Iterator

from . import cuda, distributed

__all__ = ["bfloat16", "cuda", "distributed", "float16", "float32", "inference_mode", "int8", "manual_seed", "no_grad"]


class dtype:
    """A number type with its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


float32, float16, bfloat16, int8 = dtype("float32"), dtype("float16"), dtype("bfloat16"), dtype("int8")

seed = 0


def manual_seed(wanted: int) -> None:
    """Set the seed of the next generation."""
    global seed
    seed = wanted


def take_seed() -> int:
    """The seed of this generation; the next one gets another."""
    global seed
    seed += 1
    return seed


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Does nothing: this stand-in computes no gradients."""
    yield


inference_mode = no_grad
