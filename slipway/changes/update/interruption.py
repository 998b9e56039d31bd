"""Updates in place that stop or restart something for certain.

Source: "Update requires: Some interruptions" on the types' pages of CloudFormation's template reference, and for
settings that turn something off, the services' API references. A function and an endpoint are not here: Lambda and
SageMaker go over to the new one without a gap.
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

# The value that turns it off.
_TURNED_OFF = {
    ("AWS::Events::Rule", "State"): ("DISABLED", "the rule starts nothing any more"),
    ("AWS::Lambda::EventSourceMapping", "Enabled"): ("false", "the function gets nothing of the source any more"),
    ("AWS::Lambda::Function", "ReservedConcurrentExecutions"): ("0", "the function refuses every call"),
}


def interruptions(resource: Resource, differences: list[Difference]) -> Iterator[tuple[str, str]]:
    """The property and the sentence of each difference that interrupts."""
    resource_type = resource.type
    for each in differences:
        name = each.name
        if said := _INTERRUPTING.get((resource_type, name)):
            yield name, f"{shown(each.before)} -> {shown(each.after)}: {said}" if name != "UserData" else said
        off = _TURNED_OFF.get((resource_type, name))
        if off and each.after == off[0]:
            yield name, off[1]
