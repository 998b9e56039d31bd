"""In place of the package `generation` on a machine without weights: a text generator behind the same contract.

Modules that need no torch, such as `request`, are the machine's own.
"""

import os
from pathlib import Path

__path__.append(str(Path(os.environ["SLIPWAY_HOME"]) / "generation"))
