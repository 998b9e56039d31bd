"""Of what a deployment silences."""

from rule_cases import Broken, Kept

WHY = "we looked into it and it is fine"


def silenced(rule: str) -> dict[str, object]:
    return {"preflight": {"silenced": {rule: WHY}}}


BROKEN = [
    Broken(
        "silenced-rules-are-warnings",
        "error",
        "preflight.silenced.degree-fits-instance",
        silenced("degree-fits-instance"),
        "is an error, which can't be silenced; mend what it names",
    ),
    Broken(
        "silenced-rules-are-warnings",
        "error",
        "preflight.silenced.shared-secrets",
        silenced("shared-secrets"),
        "is no rule; use one of shared-secret, jobs-have-owners.",
    ),
]

KEPT = [Kept("silenced-rules-are-warnings", silenced("shared-secret"))]
