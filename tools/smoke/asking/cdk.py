"""Runs `cdk deploy` for one stack, and ends it with the run, however the run ends."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from llm_hosting.cdk_app import search_path
from slipway.deploying.cdk_cli import find_cli
from tools.smoke.asking.place import Place
from tools.smoke.asking.stacks import ROOT, SmokeStack
from tools.smoke.asking.stop import Stop

# All processes of a command are killed when our end of this standard input closes: on our word, and also after kill -9.
# `node` may be a wrapper, which would leave the CDK running.
_LEASH = 'exec 3<&0; { cat <&3 >/dev/null; kill -KILL 0; } & exec 3<&-; "$@" </dev/null'
_PATIENCE_IN_SECONDS = 30


def cdk_deploy(stack: SmokeStack, content: dict[str, Any], place: Place, folder: Path, log: Path, stop: Stop) -> int:
    """Deploy the content of a deployment's file; return the CDK's exit status.

    folder: for its files. log: takes its output. Raises StoppedError, and CdkCliError if there is no CDK.
    """
    file = folder / f"{stack.name}.yaml"
    file.write_text(yaml.safe_dump(content))
    options = ["--require-approval", "never", "--progress", "events"]
    places = ["--output", str(folder / f"{stack.name}.out"), "-c", f"deployment={file}"]
    environment = os.environ | {"AWS_REGION": place.region, "PATH": search_path()}
    return run_on_leash([find_cli(ROOT).command, "deploy", "--all", *options, *places], environment, log, stop)


def run_on_leash(command: Sequence[str], environment: dict[str, str], log: Path, stop: Stop) -> int:
    """Run a command that ends with us, with all that it starts. Raises StoppedError."""
    with log.open("a") as output:
        process = subprocess.Popen(
            ["sh", "-c", _LEASH, "sh", *command],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is meant for us, and the leash kills its own group
        )
        try:
            while process.poll() is None:
                stop.sleep(0.2)
            return process.returncode
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(_PATIENCE_IN_SECONDS)
