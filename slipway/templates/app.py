"""A CDK app in this process, for code that needs a synthesized template and no `cdk` command."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from llm_hosting.installed_version import demand_cdk
from llm_hosting.node import search_path

Made = TypeVar("Made")


def in_app(root: Path, make: Callable[[Any], Made]) -> Made:
    """Call `make` with a CDK app, synthesize the app with the checks of cdk-nag, and return what `make` returned.

    Raises NodeMissingError or UnfitPackageError.
    """
    os.environ["PATH"] = search_path()
    demand_cdk()
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks, ServerlessChecks

    context = json.loads((root / "cdk.json").read_text())["context"]
    with TemporaryDirectory() as output:
        app = cdk.App(context=context, outdir=output, builtin_cloud_formation_validation=False)
        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
        made = make(app)
        app.synth()
    return made
