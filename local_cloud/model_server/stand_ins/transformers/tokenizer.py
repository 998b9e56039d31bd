"""Words as tokens."""

from typing import Any, Self

from .pretrained import demand_model


class Tokens(dict[str, Any]):
    """What a tokenizer gives: `input_ids` holds one text for each prompt."""

    def to(self, device: object) -> Self:
        """There is one device."""
        return self


class AutoTokenizer:
    """Leaves texts as they are."""

    def __init__(self, padding_side: str) -> None:
        self.padding_side = padding_side
        self.eos_token = "<|endoftext|>"
        self.pad_token: str | None = None
        self.pad_token_id = 0

    @classmethod
    def from_pretrained(cls, name_or_folder: str, *, padding_side: str = "right", **options: Any) -> Self:
        """Raises OSError for a folder without a model."""
        demand_model(name_or_folder)
        return cls(padding_side)

    def __call__(self, prompts: list[str], *, return_tensors: str = "pt", padding: bool = False) -> Tokens:
        """Raises ValueError for a batch without padding."""
        if len(prompts) > 1 and not (padding and self.pad_token):
            raise ValueError("Asking to pad but the tokenizer does not have a padding token.")
        return Tokens(input_ids=list(prompts), attention_mask=[[1] * len(prompt.split()) for prompt in prompts])

    def batch_decode(self, outputs: list[str], *, skip_special_tokens: bool = False) -> list[str]:
        """The texts."""
        return list(outputs)
