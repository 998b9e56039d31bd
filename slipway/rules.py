"""What a project's rules.py imports: the decorators of the four levels, and the types of a rule.

A rule is a function that yields a Finding for each setting that breaks a law. Its name is its id, and its docstring is
the law in words:

    from collections.abc import Iterator

    from slipway.rules import Finding, Resolution, error

    @error
    def endpoints_stay_in_the_vpc(resolution: Resolution) -> Iterator[Finding]:
        \"\"\"Our endpoints run in a VPC of our own.\"\"\"
        if resolution.deployment.security.vpc is None:
            yield Finding("security.vpc", "is not set", "name our VPC and its private subnets")
"""

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.rules.own_rules import OWN
from llm_hosting.resolution import Resolution

__all__ = ["Finding", "Resolution", "error", "note", "unknown", "warning"]

error, warning, unknown, note = OWN.error, OWN.warning, OWN.unknown, OWN.note
