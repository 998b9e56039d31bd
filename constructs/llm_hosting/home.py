"""The folder with the data of a release that belongs to no Python package."""

from pathlib import Path

_INSTALLED = Path(__file__).parent / "home"  # where the wheel has it
IS_CHECKOUT = not _INSTALLED.is_dir()
# It holds model_src/ (our handlers and the model server of EC2 machines), the schemas of deployments and fleets,
# docs/runbook.md, requirements.txt, cdk.json with the feature flags that our templates are tested with, package.json
# with the CDK CLI, and the roles of pipelines in examples/github/.
HOME = _INSTALLED.parents[2] if IS_CHECKOUT else _INSTALLED
