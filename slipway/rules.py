"""What a project's rules.py imports: the decorators of the four levels, and the types of a rule.

A rule is a function that yields a Finding for each setting that breaks a law. Its name is its id, and its docstring is
the law in words:

    from collections.abc import Iterator

    from slipway.rules import Finding, Resolution, error

    @error
    def callers_are_known(resolution: Resolution) -> Iterator[Finding]:
        \"\"\"Callers sign with AWS credentials.\"\"\"
        if resolution.deployment.api.auth != "iam":
            yield Finding("api.auth", f"is {resolution.deployment.api.auth}", "use iam")
"""

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.rules.own_rules import OWN
from llm_hosting.resolution import Resolution

__all__ = ["Finding", "Resolution", "error", "note", "unknown", "warning"]

error, warning, unknown, note = OWN.error, OWN.warning, OWN.unknown, OWN.note
