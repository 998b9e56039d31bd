"""How a vision-language model turns an image into tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class VisionShape:
    """Facts of vision_config in config.json, and of preprocessor_config.json.

    law: `scaled`: the image is scaled between least_pixels and most_pixels, and each square of it is a token (Qwen2-VL
    and its successors). `fitted`: it is scaled down to longest_side, and each square is a token, each row has one more
    (Pixtral, Mistral Small 3.1). `tiles`: it is cut into tiles of `tokens` tokens each, at most most_tiles, beside a
    small picture of the whole (InternVL). `fixed`: each image has `tokens` tokens (Gemma 3, LLaVA 1.5).
    patch: side in pixels of the square, or of the tile; for `fixed` that of the scaled image.
    squares: patches of the encoder that make one token.
    hidden_size: width of the encoder; None = not known.
    levels: vectors that the encoder gives for a token; more than one with DeepStack.
    """

    law: Literal["scaled", "fitted", "tiles", "fixed"]
    patch: int
    squares: int = 1
    tokens: int | None = None
    least_pixels: int | None = None
    most_pixels: int | None = None
    longest_side: int | None = None
    most_tiles: int | None = None
    hidden_size: int | None = None
    levels: int = 1

    @property
    def most_tokens(self) -> int:
        """Return the tokens of the largest image."""
        if self.law == "scaled":
            return (self.most_pixels or 0) // self.patch**2
        if self.law == "fitted":
            side = -(-(self.longest_side or 0) // self.patch)
            return side * (side + 1)
        return (self.tokens or 0) * (1 + (self.most_tiles or 0))

    @property
    def least_tokens(self) -> int:
        """Return the tokens of the smallest image."""
        if self.law == "scaled":
            return max(1, (self.least_pixels or 0) // self.patch**2)
        return 2 if self.law == "fitted" else self.tokens or 0

    @property
    def law_of_tokens(self) -> dict[str, object]:
        """Return the facts that inference_api.model.image_tokens needs."""
        names = ("law", "patch", "tokens", "least_pixels", "most_pixels", "longest_side", "most_tiles")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


# Columns that a law needs.
_NEEDED = {
    "scaled": ("least_pixels", "most_pixels"),
    "fitted": ("longest_side",),
    "tiles": ("tokens", "most_tiles"),
    "fixed": ("tokens",),
}


def problems_of_vision(vision: VisionShape) -> Iterator[tuple[str, str]]:
    """Yield each column that is wrong, and the reason: numbers of 0 or less, and those that the law lacks."""
    for column, value in vars(vision).items():
        if isinstance(value, int) and value < 1:
            yield f"vision.{column}", f"{value} is not allowed; use more than 0"
    for column in _NEEDED[vision.law]:
        if getattr(vision, column) is None:
            yield f"vision.{column}", f"is missing, and the law {vision.law} needs it"
