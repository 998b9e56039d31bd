"""app.py without cdk-nag, to measure the cost of cdk-nag."""

import gc
import sys
from pathlib import Path

gc.disable()

import aws_cdk as cdk

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT), str(ROOT / "constructs")]

from stacks.from_context import add_stacks

app = cdk.App(builtin_cloud_formation_validation=False)
add_stacks(app, ROOT)
app.synth()
