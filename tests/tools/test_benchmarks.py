"""Every group of `make bench` runs in its quick form, whose figures mean nothing."""

import os
import subprocess
import sys

import pytest

from support.repository import ROOT
from tools.benchmarks.__main__ import GROUPS


@pytest.mark.parametrize("group", GROUPS)
def test_a_quick_run_prints_figures(group: str) -> None:
    command = [sys.executable, "-m", "tools.benchmarks", group, "--rounds", "2"]
    environment = os.environ | {"SLIPWAY_BENCH": "quick"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(result.stdout.split("verdict\n")[1].splitlines()) >= 1
