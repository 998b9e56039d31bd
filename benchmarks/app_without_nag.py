"""app.py without cdk-nag, whose cost is measured by itself."""

import sys
from pathlib import Path

import aws_cdk as cdk

sys.path.append(str(Path(__file__).parent.parent))

from app import add_stacks

app = cdk.App(builtin_cloud_formation_validation=False)
add_stacks(app)
app.synth()
