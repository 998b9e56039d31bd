"""The folder with the data of a release that belongs to no Python package."""

from importlib.resources import files
from pathlib import Path


def _home() -> Path:
    installed = Path(str(files("llm_hosting"))) / "home"  # where the wheel has it
    return installed if installed.is_dir() else installed.parents[2]  # a checkout's root


# It holds model_src/ (our handlers and the model server of EC2 machines), deployments/schema.json, requirements.txt,
# cdk.json with the feature flags that our templates are tested with, and package.json with the CDK CLI.
HOME = _home()
