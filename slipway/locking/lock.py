"""Writes the facts of a deployment's model into a lock file beside the deployment."""

import json
import sys
from pathlib import Path

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.lock import HUB
from llm_hosting.deployment.lock_file import lock_path
from llm_hosting.deployment.paths import UnknownDeploymentError, find
from llm_hosting.file_errors import why
from slipway.locking.lock_content import lock_content, source_of
from slipway.locking.model_files import UnreadableModelError
from slipway.staging.stage import parsed


def run(name: str, root: Path, folder: Path | None = None) -> int:
    """Write the lock file.

    root: the folder with `deployments/`. folder: with the model's files; None = where the deployment finds them.
    Returns the exit status: 0 if the file is written, 2 after a problem, which was printed; then nothing is written.
    """
    try:
        path = find(name, root / "deployments")
        deployment = parsed(path)
        content = lock_content(deployment, folder)
        target = lock_path(path)
        _write(target, json.dumps(content, indent=1) + "\n")
    except (UnknownDeploymentError, DeploymentError, UnreadableModelError) as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or 'The disk'} can't be used: {why(error)}.", file=sys.stderr)
        return 2
    facts, commit = content["facts"], content["commit"]
    parameters = facts["parameters_in_billions"]
    size = f"{parameters} billion parameters" if parameters else f"{facts['weights_in_gb']:g} GB of weights"
    place = f"{source_of(content)}, commit {commit[:7]}" if commit else source_of(content)
    if content["source"] == HUB and deployment.model.weights:
        place += f", as {deployment.model.weights} holds nothing that is whole"
    print(f"wrote {target}: {content['model']} of {place}: {facts['architecture'] or 'unnamed'}, {size}")
    return 0


def _write(target: Path, text: str) -> None:
    """Replace the file in one step."""
    new = target.with_suffix(".json.part")
    try:
        new.write_text(text)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
