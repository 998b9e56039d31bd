"""These tests need torch and transformers: `make test-models` installs both, `make test` leaves these tests out."""

import importlib.util
from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Every test of this folder, where there is no torch."""
    return None if importlib.util.find_spec("torch") else True
