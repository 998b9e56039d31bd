"""The functions' log: one JSON object a line."""

import json
import sys
from collections.abc import Mapping
from typing import Any


def log(line: Mapping[str, Any]) -> None:
    """In one write, so that threads do not mix their lines: CloudWatch reads metrics from whole lines only."""
    sys.stdout.write(json.dumps(line) + "\n")
