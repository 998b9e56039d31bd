"""`python -m slipway lock`: writes what a deployment's model says of itself into a file beside the deployment."""

import json
import sys
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.deployment_file import DeploymentError
from llm_hosting.deployment_paths import UnknownDeploymentError, find
from llm_hosting.locked_deployment import lock_path
from slipway.aws_errors import sentence
from slipway.locking.hub_model import read_model
from slipway.stage import hub_token, parsed
from slipway.staging.hub_repository import HubError, HubRepository
from slipway.staging.staging import StagingError
from slipway.staging.weight_files import SelectionError


def run(name: str, root: Path) -> int:
    """root: the folder with `deployments/`.

    Returns the exit status: 0 when the file is written, 2 after a problem, which was printed; then nothing is written.
    """
    try:
        path = find(name, root / "deployments")
        deployment = parsed(path)
        content = read_model(deployment, HubRepository(deployment.model.id, hub_token(deployment.model)))
    except (UnknownDeploymentError, DeploymentError, HubError, SelectionError, StagingError) as error:
        print(error, file=sys.stderr)
        return 2
    except (BotoCoreError, ClientError) as error:  # of the secret with the token
        print(sentence(error), file=sys.stderr)
        return 2
    target = lock_path(path)
    new = target.with_suffix(".json.part")
    new.write_text(json.dumps(content, indent=1) + "\n")
    new.replace(target)
    facts = content["facts"]
    size = (
        f"{facts['parameters_in_billions']} billion parameters" if facts["parameters_in_billions"] else "size unknown"
    )
    print(
        f"wrote {target}: {content['model']} at {content['commit'][:7]}, {facts['architecture'] or 'unnamed'}, {size}"
    )
    return 0
