"""Replaces the package `generation` on a machine without weights: a text generator with the same interface.

Modules that do not need torch, such as `request`, come from the real package.
"""

import os
from pathlib import Path

__path__.append(str(Path(os.environ["SLIPWAY_HOME"]) / "generation"))
