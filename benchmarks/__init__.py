"""What docs/performance.md promises, measured: `python -m benchmarks`."""

import sys
from pathlib import Path

# The functions' code is a source root of its own.
sys.path.append(str(Path(__file__).resolve().parent.parent / "lambda_src"))
