"""A stack of a rendered template, without its endpoint: renders, uploads, creates, updates and deletes it."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from slipway.leftovers.search import find
from slipway.operations.last_failure import last_failure
from slipway.stack.deployed_stack import described_stack
from tools.smoke.asking.question import CouldNotAskError
from tools.smoke.asking.removal import make_bucket, remove_bucket
from tools.smoke.asking.stacks import REALTIME, ROOT
from tools.smoke.asking.trial import Trial

_WAIT_IN_SECONDS = 1200
_TEMPLATE = "template.yaml"


class RenderedStack:
    """The stack, whose name is also the deployment's.

    code: the form of the functions' code. api: the section `api` of the deployment file; the rest is that of the
    real-time stack.
    """

    def __init__(self, trial: Trial, name: str, code: str, api: dict[str, Any]) -> None:
        self.name = name
        self._trial, self._code = trial, code
        self._file = trial.folder / f"{name}.yaml"
        self._file.write_text(yaml.safe_dump(yaml.safe_load(REALTIME.file.read_text()) | {"api": api}))
        self._prefix = trial.made("archives")
        self._bucket = f"{self._prefix}-{trial.region}"
        self._cloudformation = trial.clients("cloudformation")

    def create(self) -> str:
        """Render and upload the template, create the stack, and return its status."""
        rendered = self._render()
        s3 = self._trial.clients("s3")
        make_bucket(self._bucket, s3)
        template = (rendered / f"{self.name}.template.yaml").read_bytes()
        s3.put_object(Bucket=self._bucket, Key=_TEMPLATE, Body=template)
        for archive in rendered.glob("archives/*"):
            s3.put_object(Bucket=self._bucket, Key=archive.name, Body=archive.read_bytes())
        self._parameters = _parameters(rendered / f"{self.name}.parameters.json")
        if "ArchiveBucketPrefix" in self._parameters:
            self._parameters["ArchiveBucketPrefix"] = self._prefix
        self._trial.saw(f"{self.name}: a template of {len(template):,} bytes, --code {self._code}")
        return self._settled("create_stack")

    def update(self, **parameters: str) -> str:
        """Update the stack with other values of parameters, and return its status."""
        self._parameters |= parameters
        return self._settled("update_stack")

    def delete(self) -> list[str]:
        """Delete the stack, what it retains, and the bucket. Return what is left."""
        started = time.monotonic()
        if described_stack(self.name, self._trial.clients):
            self._cloudformation.delete_stack(StackName=self.name)
            gone = self._trial.wait(self._is_gone, _WAIT_IN_SECONDS)
            took = f"after {time.monotonic() - started:.0f} s"
            self._trial.saw(f"{self.name}: {'gone ' + took if gone else self.failure or 'still there ' + took}")
        for each in find(self.name, self._trial.clients)[0]:
            each.remove()
        remove_bucket(self._bucket, self._trial.clients("s3"))
        left = [f"stack {self.name}"] if described_stack(self.name, self._trial.clients) else []
        return left + [f"{each.kind} {each.name}" for each in find(self.name, self._trial.clients)[0]]

    @property
    def failure(self) -> str:
        """The reason of the stack's last failure; empty if nothing failed."""
        if not described_stack(self.name, self._trial.clients):
            return ""
        failure = last_failure(self._trial.stack(self.name))
        return failure.reason if failure else ""

    def _render(self) -> Path:
        folder = self._trial.folder / f"{self.name}-rendered"
        command = [sys.executable, "-m", "slipway", "render", str(self._file), "-o", str(folder), "--code", self._code]
        quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, cwd=ROOT, text=True, start_new_session=True, **quiet) as process:
            try:
                while process.poll() is None:
                    self._trial.sleep(0.2)
            finally:
                process.kill()
            assert process.stderr
            if process.returncode:
                said = process.stderr.read().strip()[-500:]
                raise CouldNotAskError(f"`slipway render` ended with {process.returncode}: {said}")
        return folder

    def _settled(self, call: str) -> str:
        """Call CloudFormation, and return the stack's status once the operation has ended."""
        started = time.monotonic()
        getattr(self._cloudformation, call)(
            StackName=self.name,
            TemplateURL=f"https://{self._bucket}.s3.{self._trial.region}.amazonaws.com/{_TEMPLATE}",
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in self._parameters.items()],
            Capabilities=["CAPABILITY_IAM"],
        )

        def look() -> str | None:
            status = str((described_stack(self.name, self._trial.clients) or {})["StackStatus"])
            return None if status.endswith("_IN_PROGRESS") else status

        status = self._trial.wait(look, _WAIT_IN_SECONDS) or "not at its end after 20 minutes"
        why = "" if status.endswith(("CREATE_COMPLETE", "UPDATE_COMPLETE")) else f": {self.failure}"
        self._trial.saw(f"{self.name}: {call} ended as {status} after {time.monotonic() - started:.0f} s{why}")
        return f"{status}{why}"

    def _is_gone(self) -> bool | None:
        described = described_stack(self.name, self._trial.clients)
        if described and described["StackStatus"] == "DELETE_FAILED":
            return False
        return None if described else True


def _parameters(path: Path) -> dict[str, str]:
    return {row["ParameterKey"]: row["ParameterValue"] for row in json.loads(path.read_text())}
