"""The outcome of checking one deployment file."""

from dataclasses import dataclass, replace

from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from llm_hosting.resolution import Resolution


@dataclass(frozen=True)
class CheckResult:
    """The report on one deployment file.

    resolution: None if the file could not be read as a deployment. command_name: the deployment's name in commands;
    empty if there is no file.
    """

    report: Report
    resolution: Resolution | None
    command_name: str = ""

    @property
    def deployment(self) -> Deployment | None:
        """The deployment; None if the file could not be read as one."""
        return self.resolution.deployment if self.resolution else None

    @property
    def named(self) -> "CheckResult":
        """Return the result with the deployment's name in the commands of its fixes, ready to be copied."""
        if not self.command_name:
            return self
        findings = [each.named(self.command_name) for each in self.report.findings]
        return replace(self, report=replace(self.report, findings=findings))
