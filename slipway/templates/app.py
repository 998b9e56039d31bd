"""A CDK app in this process, for code that needs a synthesized template and no `cdk` command."""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from llm_hosting.cdk_app import search_path, settings_of
from llm_hosting.installed_version import demand_cdk

Made = TypeVar("Made")


def in_app(root: Path, make: Callable[[Any], Made]) -> Made:
    """Call `make` with a CDK app, synthesize the app with the checks of cdk-nag, and return what `make` returned.

    Raises CdkAppError or UnfitPackageError.
    """
    os.environ["PATH"] = search_path()
    demand_cdk()
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks, ServerlessChecks

    context = settings_of(root).get("context", {})
    with TemporaryDirectory() as output:
        app = cdk.App(context=context, outdir=output, builtin_cloud_formation_validation=False)
        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
        made = make(app)
        app.synth()
    return made
