"""The CDK app: `cdk deploy -c deployment=<name or path>[,<another>]`, or `cdk deploy -c fleet=<name or path>`."""

import gc
import os
import sys
from pathlib import Path

# Objects of a synth live until its end; the search for garbage would take a tenth of its time.
gc.disable()

try:
    import aws_cdk as cdk
except ImportError:
    sys.exit("This Python has no CDK: run `make setup`, then `source .venv/bin/activate`.")
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

ROOT = Path(__file__).parent
# `constructs/` is a source root (like `src/`): the import name itself belongs to the CDK.
sys.path.append(str(ROOT / "constructs"))

from llm_hosting.catalog.models import CatalogError
from stacks.from_context import add_stacks


def main() -> None:
    """Create the stacks, register cdk-nag, synthesize."""
    # The CDK's own validation more than doubles the time of a synth; only `make check` asks for it.
    app = cdk.App(builtin_cloud_formation_validation=os.environ.get("CDK_VALIDATION") == "true")
    try:
        if app.node.try_get_context("fleet"):
            from stacks.fleet_from_context import add_fleet  # late: most runs synthesize no fleet

            add_fleet(app, ROOT)
        else:
            add_stacks(app, ROOT)
    except CatalogError as error:
        sys.exit(str(error))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    app.synth()


if __name__ == "__main__":
    main()
