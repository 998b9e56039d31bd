"""The folders with the code that a deployment ships."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sources:
    """functions: of the Lambda functions. models: of what runs beside a model, in its container or on its machine.

    playground: the page that the API serves.
    """

    functions: Path
    models: Path
    playground: Path

    @classmethod
    def below(cls, root: Path) -> "Sources":
        """Those of this repository, whose root is given."""
        return cls(functions=root / "lambda_src", models=root / "model_src", playground=root / "playground")

    def model_handler(self, name: str | None) -> Path | None:
        """The folder of an own model.py, `serving.handler`."""
        return self.models / name if name else None
