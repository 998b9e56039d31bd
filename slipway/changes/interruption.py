"""Updates in place that stop or restart something for certain.

Source: "Update requires: Some interruptions" on the types' pages of CloudFormation's template reference, and for
settings that turn something off, the services' API references. A function and an endpoint are not here: Lambda and
SageMaker go over to the new one without a gap.
"""

from collections.abc import Iterator

from slipway.changes.comparison import Difference
from slipway.changes.policies import shown
from slipway.changes.resources import Resource
from slipway.changes.update_policy import rolled_properties, rolls

_RESTARTS = "the instance stops and starts again"
_DATABASE = "the database is down for a while, at once or in the maintenance window"

_INTERRUPTING = {
    ("AWS::EC2::Instance", "InstanceType"): _RESTARTS,
    ("AWS::EC2::Instance", "UserData"): _RESTARTS,
    ("AWS::EC2::Instance", "EbsOptimized"): _RESTARTS,
    ("AWS::EC2::Instance", "KernelId"): _RESTARTS,
    ("AWS::EC2::Instance", "RamdiskId"): _RESTARTS,
    ("AWS::RDS::DBInstance", "DBInstanceClass"): _DATABASE,
    ("AWS::RDS::DBInstance", "EngineVersion"): _DATABASE,
    ("AWS::RDS::DBCluster", "EngineVersion"): _DATABASE,
    ("AWS::Redshift::Cluster", "NodeType"): "the cluster is read-only or down while it is resized",
    ("AWS::SageMaker::NotebookInstance", "InstanceType"): "the notebook instance has to stop for it",
    ("AWS::SageMaker::NotebookInstance", "VolumeSizeInGB"): "the notebook instance has to stop for it",
}

# The value that turns it off.
_TURNED_OFF = {
    ("AWS::Events::Rule", "State"): ("DISABLED", "the rule starts nothing any more"),
    ("AWS::Scheduler::Schedule", "State"): ("DISABLED", "the schedule starts nothing any more"),
    ("AWS::KMS::Key", "Enabled"): ("false", "nothing encrypted under the key can be read"),
    ("AWS::Lambda::EventSourceMapping", "Enabled"): ("false", "the function gets nothing of the source any more"),
    ("AWS::Lambda::Function", "ReservedConcurrentExecutions"): ("0", "the function refuses every call"),
    ("AWS::CloudFront::Distribution", "DistributionConfig.Enabled"): ("false", "the distribution answers nobody"),
    ("AWS::ECS::Service", "DesiredCount"): ("0", "no task is left"),
}


def interruptions(resource: Resource, differences: list[Difference]) -> Iterator[tuple[str, str]]:
    """The property and the sentence of each difference that interrupts."""
    resource_type = resource.type
    for each in differences:
        name = each.name
        if said := _INTERRUPTING.get((resource_type, name)):
            yield name, f"{shown(each.before)} -> {shown(each.after)}: {said}" if name != "UserData" else said
        if each.path[0] in rolled_properties(resource_type) and rolls(resource):
            yield name, "the instances are replaced, some at a time (AutoScalingRollingUpdate)"
        off = _TURNED_OFF.get((resource_type, name))
        if off and each.after == off[0]:
            yield name, off[1]
