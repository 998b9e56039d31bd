"""Counts how often a deployment is resolved, placed and judged."""

from collections import Counter

import pytest

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.rules.rule import RULES, Rule
from llm_hosting.resolution import Container, Placement, Resolution, resolution


def count_calls(patch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the runs of each rule by its id, and the containers and placements that are made after this call."""
    counts: Counter[str] = Counter()
    original = Rule.findings

    def findings(self: Rule[Resolution], resolved: Resolution) -> list[Finding]:
        counts[self.id] += 1
        return original(self, resolved)

    for made in (Container, Placement):

        def count(*arguments: object, made: type = made) -> object:
            counts[made.__name__] += 1
            return made(*arguments)

        patch.setattr(resolution, made.__name__, count)
    patch.setattr(Rule, "findings", findings)
    return counts


ONCE = {rule.id: 1 for rule in RULES} | {"Container": 1, "Placement": 1}
