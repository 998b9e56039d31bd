"""The outcome of checking one deployment file."""

from dataclasses import dataclass

from llm_hosting.deployment import Deployment
from llm_hosting.preflight.report import Report


@dataclass(frozen=True)
class CheckResult:
    """The report on one file; deployment: None = the file could not be read as one."""

    report: Report
    deployment: Deployment | None
