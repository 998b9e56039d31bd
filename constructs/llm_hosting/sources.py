"""The folders with the code that a deployment ships."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sources:
    """The folders of the code.

    functions: the Lambda functions. models: the code beside a model, in its container or on its machine.
    playground: the page that the API serves.
    """

    functions: Path
    models: Path
    playground: Path

    @classmethod
    def below(cls, root: Path) -> "Sources":
        """Return the folders below the repository's root."""
        return cls(functions=root / "lambda_src", models=root / "model_src", playground=root / "playground")

    def model_handler(self, name: str | None) -> Path | None:
        """Return the folder of the handler that `serving.handler` names; None if it names none."""
        return self.models / name if name else None
