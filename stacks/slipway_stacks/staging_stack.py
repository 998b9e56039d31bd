"""The stack of a build project that stages one deployment's weights inside AWS."""

import shutil
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.paths import base_of
from llm_hosting.home import HOME
from llm_hosting.service.governance import govern
from llm_hosting.service.keys import make_log_key, named_key
from llm_hosting.weights.staging_project import StagingProject


class StagingStack(cdk.Stack):
    """A build project. It costs nothing until a build starts, and may be destroyed once the weights are staged.

    path: the deployment's file.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, deployment: Deployment, path: Path, **kwargs: Any
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        base = base_of(path)
        with TemporaryDirectory() as folder:
            _copy_command(path, base, Path(folder))
            source = assets.Asset(self, "Source", path=folder)
        project = StagingProject(
            self,
            "Staging",
            deployment=path.stem if base is None else f"{base.stem}/{path.stem}",
            model=deployment.model,
            source=source,
            log_settings=deployment.logs,
            log_key=(
                make_log_key(self, construct_id, cdk.RemovalPolicy.DESTROY)  # the logs go with this stack, too
                if deployment.security.customer_keys
                else named_key(self, "LogKey", deployment.security.log_kms_key_arn)
            ),
        )
        govern(project, deployment.security)
        command = f"aws codebuild start-build --project-name {project.name} --region {self.region}"
        cdk.CfnOutput(self, "StartCommand", value=command)
        cdk.CfnOutput(self, "LogGroup", value=project.log_group.log_group_name)


def _copy_command(path: Path, base: Path | None, folder: Path) -> None:
    """Copy the files that `python -m slipway stage` reads: no virtual environment, no other deployment."""
    without_bytecode = shutil.ignore_patterns("__pycache__")
    for name in ("slipway", "llm_hosting"):
        shutil.copytree(str(files(name)), folder / name, ignore=without_bytecode)
    shutil.copy(HOME / "requirements.txt", folder)
    (folder / "deployments").mkdir()
    shutil.copy(base or path, folder / "deployments")
    if base:
        (folder / "deployments" / base.stem).mkdir()
        shutil.copy(path, folder / "deployments" / base.stem)
