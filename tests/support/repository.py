"""The folder of this repository, which is a project, too."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
