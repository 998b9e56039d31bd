"""What docs/performance.md promises, measured: `python -m benchmarks`."""

import sys
from pathlib import Path

# The functions' code is a source root of its own, and the simulation is a test tool.
ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "lambda_src"), str(ROOT / "tests")]
