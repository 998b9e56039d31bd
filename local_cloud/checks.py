"""Refuses templates that the emulator would accept silently but AWS would refuse or treat differently."""

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .assembly import Stack
from .interpreters import environments
from .template_checks import api_requests, emulated_properties


class RefusedTemplateError(Exception):
    """A template that must not be deployed; the message names every finding."""


def check(*stacks: Stack) -> None:
    """Check for properties that the emulator would ignore, requests that AWS would refuse, and findings of cfn-lint.

    All stacks must be in one region. An unchanged template is linted only once. Raises RefusedTemplateError, and
    EnvironmentUnavailableError without the local cloud's packages.
    """
    models = environments.CLOUD.packages() / "botocore" / "data"  # the user's boto3 may be older than our templates
    for stack in stacks:
        if ignored := emulated_properties.findings(stack.template):
            raise RefusedTemplateError(
                f"{stack.name} uses what the local cloud does not emulate:\n  " + "\n  ".join(ignored)
            )
        if refused := api_requests.findings(stack.template, stack.region, models):
            raise RefusedTemplateError(f"{stack.name} asks for what AWS refuses:\n  " + "\n  ".join(refused))
    new = [each for each in stacks if not (_stamp(each).is_file() and _stamp(each).read_text() == _digest(each))]
    if new:  # together, since cfn-lint takes seconds to start
        lint([stack.template_path for stack in new], [stack.region for stack in new[:1]])
        for stack in new:
            mark_as_linted(stack)


def mark_as_linted(stack: Stack) -> None:
    """Let `check` skip cfn-lint, which takes seconds, for the template in its current form."""
    _stamp(stack).write_text(_digest(stack))


def _stamp(stack: Stack) -> Path:
    return stack.template_path.with_suffix(f".{stack.region}.linted")


def _digest(stack: Stack) -> str:
    return hashlib.sha256(stack.template_body.encode()).hexdigest()


def lint(templates: Sequence[Path], regions: Sequence[str]) -> None:
    """Raise RefusedTemplateError if cfn-lint has findings. W3005, a redundant DependsOn by the CDK, is ignored."""
    cfn_lint = str(Path(sys.executable).with_name("cfn-lint"))
    command = [cfn_lint, "--format", "parseable", "-i", "W3005", "-r", *regions, "-t", *map(str, templates)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RefusedTemplateError(f"cfn-lint refuses:\n{result.stdout}{result.stderr}")
