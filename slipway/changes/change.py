"""A change: one thing that an update of a stack does to a resource."""

from dataclasses import dataclass

KINDS = {
    "refused": "CloudFormation, or the service behind it, refuses the update",
    "retyped": "another type under the same logical id",
    "removed": "deleted, or left behind where a policy retains it",
    "replaced": "a new resource takes its place, the old one is deleted or left behind",
    "may-be-replaced": "replaced under some conditions, which a template does not show",
    "data-loss": "data may be lost",
    "public-exposure": "reachable by anybody, or nearer to it",
    "permission-widened": "a principal may do more than before",
    "callers-refused": "callers that are admitted now are refused from then on",
    "interruption": "down, or restarted, during the update",
    "new-instances": "new instances start beside those that run, which end afterwards",
    "price": "costs more or less by the hour",
    "unknown": "no schema says what happens",
    "added": "new",
    "nothing": "updated in place, without any of the above",
}
"""The kinds of changes with their meanings, worst first."""

RENAMED = "likely a rename"


@dataclass(frozen=True)
class Change:
    """One effect of an update on one resource.

    logical_id: of the resource, or a part of the template such as `Outputs.ApiUrl`. kind: a key of KINDS.
    property: the path of the cause, such as `ProductionVariants.*.InstanceType`, or ''. sentence: the effect in words.
    gated: it stops a pipeline until somebody acknowledges it.
    """

    logical_id: str
    type: str
    kind: str
    property: str
    sentence: str
    gated: bool = False


def rank(change: Change) -> tuple[bool, int, str, str]:
    """The key that sorts changes worst first."""
    return (not change.gated, list(KINDS).index(change.kind), change.logical_id, change.property)
