"""The measurements behind docs/performance.md: `python -m benchmarks`."""

import sys
from pathlib import Path

# lambda_src/ is a source root.
sys.path.append(str(Path(__file__).resolve().parent.parent / "lambda_src"))
