"""The measurements behind docs/performance.md: `python -m tools.benchmarks`."""

import sys
from pathlib import Path

# constructs/ and lambda_src/ are source roots; the simulation is a test tool.
ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "constructs"), str(ROOT / "lambda_src"), str(ROOT / "tests")]
