"""Updates in place that certainly stop or restart something.

Sources: "Update requires: Some interruptions" on the types' pages of CloudFormation's template reference, and the
services' API references for settings that turn something off. Functions and endpoints are absent: Lambda and SageMaker
switch to the new version without a gap.
"""

from collections.abc import Iterator

from slipway.changes.template.resources import Resource
from slipway.changes.template.values import shown
from slipway.changes.update.comparison import Difference

_RESTARTS = "the instance stops and starts again"

_INTERRUPTING = {
    ("AWS::EC2::Instance", "InstanceType"): _RESTARTS,
    ("AWS::EC2::Instance", "UserData"): _RESTARTS,
    ("AWS::EC2::Instance", "EbsOptimized"): _RESTARTS,
    ("AWS::EC2::Instance", "KernelId"): _RESTARTS,
    ("AWS::EC2::Instance", "RamdiskId"): _RESTARTS,
}

# The value that turns the resource off, and what that means.
_TURNED_OFF = {
    ("AWS::Events::Rule", "State"): ("DISABLED", "the rule stops triggering its targets"),
    ("AWS::Lambda::EventSourceMapping", "Enabled"): ("false", "the function stops reading from the source"),
    ("AWS::Lambda::Function", "ReservedConcurrentExecutions"): ("0", "the function refuses every call"),
}


def interruptions(resource: Resource, differences: list[Difference]) -> Iterator[tuple[str, str]]:
    """The property of each difference that interrupts, with a sentence."""
    resource_type = resource.type
    for each in differences:
        name = each.name
        if said := _INTERRUPTING.get((resource_type, name)):
            yield name, f"{shown(each.before)} -> {shown(each.after)}: {said}" if name != "UserData" else said
        off = _TURNED_OFF.get((resource_type, name))
        if off and each.after == off[0]:
            yield name, off[1]
