"""The Python that runs real models."""

from pathlib import Path

from llm_hosting.home import HOME
from local_cloud.real_model.error import RealModelError


def model_python() -> Path:
    """A Python with torch, transformers and huggingface_hub. Raises RealModelError."""
    python = HOME / ".venv-models" / "bin" / "python"
    if not python.exists():
        problem = "--real runs the model in .venv-models, which is missing: run `make .venv-models/.ready` (5 GB)."
        raise RealModelError(problem)
    return python
