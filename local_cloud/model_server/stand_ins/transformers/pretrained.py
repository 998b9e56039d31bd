"""Names of models on the Hub, and folders with weights."""

from pathlib import Path
from typing import Any, Self


def demand_model(name_or_folder: str) -> None:
    """Any name on the Hub will do; a folder must hold a model. Raises OSError."""
    if name_or_folder.startswith(("/", ".")) and not (Path(name_or_folder) / "config.json").is_file():
        raise OSError(f"{name_or_folder} does not appear to have a file named config.json.")


class AutoConfig:
    """The model's configuration: which one it is."""

    def __init__(self, name_or_path: str) -> None:
        self.name_or_path = name_or_path

    @classmethod
    def from_pretrained(cls, name_or_folder: str, **options: Any) -> Self:
        """Raises OSError for a folder without a model."""
        demand_model(name_or_folder)
        return cls(name_or_folder)
