"""Writes a deployment as one template for any account and region."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.archive import ArchiveError
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError, find, stack_name
from llm_hosting.deployment.settings.governance import Governance
from llm_hosting.file_errors import why
from llm_hosting.portable.code.assets import Code
from llm_hosting.portable.code.index_file import InlineCodeError
from llm_hosting.portable.template import PortableTemplate
from llm_hosting.preflight.validation import load
from llm_hosting.resolution import Resolution
from llm_hosting.resolution.description import describe
from llm_hosting.sources import handler_names
from slipway.templates.app import in_app
from slipway.templates.rendered_files import ParametersFileError, RenderedFiles, TooLargeError


def run(name: str, root: Path, folder: Path, code: Code = "inline") -> int:
    """Write template, parameters and archives into `folder`, and tell how to deploy them.

    root: the folder with `deployments/` and the code. code: where the functions' code is. Returns the exit status: 1
    if the deployment is refused, 2 for an unknown name, or a folder or a file of parameters that can't be used.
    """
    try:
        path = None if name == ACCOUNT_SETTINGS else find(name, root / "deployments")
        files = RenderedFiles(folder, stack_name(path) if path else ACCOUNT_SETTINGS)
        values = files.values()
        template = _synthesized(files.name, _resolution(path, root) if path else None, values, root, code)
        files.write(template, values)
    except (DeploymentError, InlineCodeError, TooLargeError, ArchiveError) as error:
        print(error, file=sys.stderr)
        return 1
    except UnknownDeploymentError as error:
        print(f"{error} {ACCOUNT_SETTINGS} is a name too.", file=sys.stderr)
        return 2
    except ParametersFileError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or folder} can't be used: {why(error)}; name another folder with -o.", file=sys.stderr)
        return 2
    print(*files.advice(template), sep="\n")
    return 0


def _resolution(path: Path, root: Path) -> Resolution:
    resolution, findings = load(path, handler_names(root))
    if shared := resolution.deployment.shared:
        problem = f"hosting.endpoint: 'shared/{shared.name}' is a stack of one account and region"
        raise DeploymentError(path, [f"{problem}; deploy the two with `slipway deploy`."])
    print(*describe(stack_name(path), resolution, findings), sep="\n", file=sys.stderr)
    if region := resolution.deployment.region:
        print(f"  region    {region} is for `cdk deploy`: this template is for every region", file=sys.stderr)
    return resolution


def _synthesized(
    name: str, resolution: Resolution | None, values: Mapping[str, str], root: Path, code: Code
) -> PortableTemplate:
    """Synthesize the template. resolution: None = the account settings."""
    from slipway_stacks.portable_rendering import render, render_account_settings

    def make(app: Any) -> PortableTemplate:
        if resolution is None:
            return render_account_settings(app, Governance())
        return render(app, name, resolution, values, code)

    return in_app(root, make)
