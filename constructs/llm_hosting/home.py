"""The folder with the data of a release that belongs to no Python package."""

from importlib.resources import files
from pathlib import Path

_INSTALLED = Path(str(files("llm_hosting"))) / "home"  # where the wheel has it
IS_CHECKOUT = not _INSTALLED.is_dir()
# It holds model_src/ (our handlers and the model server of EC2 machines), deployments/schema.json, requirements.txt,
# cdk.json with the feature flags that our templates are tested with, and package.json with the CDK CLI.
HOME = _INSTALLED.parents[2] if IS_CHECKOUT else _INSTALLED
