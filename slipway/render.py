"""`python -m slipway render`: a deployment as one template for any account and region."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.archive import handler_folders
from llm_hosting.deployment_file import DeploymentError
from llm_hosting.deployment_paths import UnknownDeploymentError, find, stack_name
from llm_hosting.portable.template import (
    MOST_BYTES_IN_BUCKET,
    MOST_BYTES_IN_REQUEST,
    NotPortableError,
    PortableTemplate,
)
from llm_hosting.preflight.validation import load
from llm_hosting.resolution import Resolution
from llm_hosting.resolution.description import describe
from llm_hosting.sources import Sources


def run(name: str, root: Path, folder: Path) -> int:
    """Write template, parameters and archives into `folder`, and say how to deploy them.

    root: the folder with `deployments/` and the code. Returns the exit status: 1 where the deployment is refused, 2 for
    a name or a folder that can't be meant.
    """
    try:
        path = None if name == ACCOUNT_SETTINGS else find(name, root / "deployments")
        stack = stack_name(path) if path else ACCOUNT_SETTINGS
        template = _rendered(path, root) if path else _in_app(stack, None, root)
        paths = _write(template, stack, folder)
    except (DeploymentError, NotPortableError) as error:
        print(error, file=sys.stderr)
        return 1
    except UnknownDeploymentError as error:
        print(f"{error} {ACCOUNT_SETTINGS} is a name too.", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or folder}: {error.strerror}; name another folder with -o.", file=sys.stderr)
        return 2
    print(*_advice(template, stack, paths), sep="\n")
    return 0


def _rendered(path: Path, root: Path) -> PortableTemplate:
    resolution, findings = load(path, handler_folders(root / "model_src"))
    print(*describe(stack_name(path), resolution, findings), sep="\n", file=sys.stderr)
    if region := resolution.deployment.region:
        print(f"  region: {region} is for `cdk deploy`; this template is for every region.", file=sys.stderr)
    return _in_app(stack_name(path), resolution, root)


def _in_app(name: str, resolution: Resolution | None, root: Path) -> PortableTemplate:
    """resolution: None for the account settings."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where Node is
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks, ServerlessChecks

    from stacks.portable_rendering import render, render_account_settings

    context = json.loads((root / "cdk.json").read_text())["context"]
    with TemporaryDirectory() as output:
        # cdk-nag looks at the template; the CDK's own validation is for `make check`.
        app = cdk.App(context=context, outdir=output, builtin_cloud_formation_validation=False)
        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
        if resolution is None:
            template = render_account_settings(app)
        else:
            template = render(app, name, resolution, Sources.below(root))
        app.synth()
    return template


def _write(template: PortableTemplate, name: str, folder: Path) -> dict[str, Path]:
    body = template.body()
    if (size := len(body.encode())) > MOST_BYTES_IN_BUCKET:
        raise NotPortableError(f"{name}: {size:,} bytes are more than the {MOST_BYTES_IN_BUCKET:,} of a template.")
    paths = {"template": folder / f"{name}.template.yaml", "parameters": folder / f"{name}.parameters.json"}
    folder.mkdir(parents=True, exist_ok=True)
    paths["template"].write_text(body)
    paths["parameters"].write_text(json.dumps(_parameters_file(template), indent=2) + "\n")
    return paths


def _parameters_file(template: PortableTemplate) -> list[dict[str, str]]:
    return [{"ParameterKey": key, "ParameterValue": value} for key, value in template.parameters.items()]


def _advice(template: PortableTemplate, name: str, paths: Mapping[str, Path]) -> list[str]:
    size = paths["template"].stat().st_size
    fits = "fits into a request" if size <= MOST_BYTES_IN_REQUEST else "goes through a bucket"
    limits = f"{size:,} bytes: {fits} ({MOST_BYTES_IN_REQUEST:,} in a request, {MOST_BYTES_IN_BUCKET:,} in a bucket)"
    return [f"{paths['template']}  {limits}", f"{paths['parameters']}"]
