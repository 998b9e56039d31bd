"""The CDK app of a project."""

import gc
import os
import sys
from typing import TYPE_CHECKING

from llm_hosting import STAGING_PREFIX, STANDARDS
from llm_hosting.installed_version import UnfitPackageError, demand_cdk
from llm_hosting.project import ProjectError, project_folder, use_project

if TYPE_CHECKING:
    import aws_cdk as cdk


def create_app() -> "cdk.App":
    """Return a CDK app with the stacks that the context names: `-c deployment=NAME[,NAME]` or `-c fleet=NAME`.

    Names are those of the project around the current folder. cdk-nag judges every stack. More stacks may be added
    before `synth()`. It turns Python's garbage collection off. Raises SystemExit with every problem of every file.
    """
    # Objects of a synth live until its end; the search for garbage would take a tenth of its time, imports included.
    gc.disable()
    try:
        demand_cdk()
        import aws_cdk as cdk
        from cdk_nag import AwsSolutionsChecks, ServerlessChecks
    except UnfitPackageError as error:
        sys.exit(str(error))
    except ImportError as error:
        sys.exit(f"This Python has no {error.name}: activate the environment with Slipway, or install it here.")

    # The CDK's own validation more than doubles the time of a synth; only `make check` asks for it.
    app = cdk.App(builtin_cloud_formation_validation=os.environ.get("CDK_VALIDATION") == "true")
    fleet, deployments = (str(app.node.try_get_context(each) or "") for each in ("fleet", "deployment"))
    try:
        names = [each.strip().removeprefix(STAGING_PREFIX) for each in (fleet or deployments).split(",")]
        project = project_folder(*names)
        use_project(project)
        if fleet:
            from .fleet_from_context import add_fleet  # late: most runs synthesize no fleet

            add_fleet(app, project)
        else:
            from .from_context import add_stacks

            add_stacks(app, project)
    except ProjectError as error:
        sys.exit(str(error))
    packs = [AwsSolutionsChecks(app), ServerlessChecks(app)]
    if app.node.try_get_context(STANDARDS):
        from cdk_nag import HIPAASecurityChecks, NIST80053R5Checks, PCIDSS321Checks

        packs += [NIST80053R5Checks(app), HIPAASecurityChecks(app), PCIDSS321Checks(app)]
    cdk.Validations.of(app).add_plugins(*packs)
    return app
