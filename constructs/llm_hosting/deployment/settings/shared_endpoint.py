"""Typed, frozen models of the endpoint file: a SageMaker endpoint on which several deployments run their models."""

from dataclasses import dataclass

from pydantic import Field

from ... import ENDPOINT_PREFIX
from .governance import Governance
from .section import (
    CapacityArn,
    CountRange,
    HostImage,
    InstanceTypeName,
    KmsKeyArn,
    Region,
    RunbookUrl,
    Section,
    TopicArn,
)

FOLDER = "endpoints"
# What an endpoint file decides for every deployment on it.
OF_INSTANCES = (
    "instance_type",
    "volume_size_in_gb",
    "volume_kms_key_arn",
    "inference_ami_version",
    "detailed_observability",
    "network_isolation",
    "reserved_capacity_arn",
)


class EndpointInstances(CountRange):
    """Number of instances of the endpoint; SageMaker chooses between the two numbers what the models need."""

    min: int = Field(
        1, ge=0, le=1000, description="Number of instances that always run; 0 = none runs while all models sleep."
    )
    max: int = Field(1, ge=1, le=1000, description="Largest number of instances that may run.")


class EndpointAlarms(Section):
    """Alarms on the endpoint as a whole; those on a model are in its deployment file."""

    topic_arn: TopicArn | None = Field(None, description="SNS topic to notify; null = none.")
    runbook_url: RunbookUrl | None = Field(
        None, description="Page of your own that alarms link to, with our anchors; null = `docs/runbook.md`."
    )


class SharedEndpoint(Section):
    """One SageMaker endpoint for several deployments: one file `endpoints/<name>.yaml`, one stack."""

    region: Region | None = Field(
        None, description="AWS region, also of every deployment on the endpoint; null = as each deployment says."
    )
    instance_type: InstanceTypeName = Field(
        description="SageMaker instance type of the catalog, for example `ml.g6.12xlarge`."
    )
    instance_count: EndpointInstances = EndpointInstances()
    volume_size_in_gb: int | None = Field(
        None,
        ge=1,
        le=512,
        description="Size of the EBS volume of each instance; null = SageMaker's default. Refused on types with an "
        "NVMe disk.",
    )
    volume_kms_key_arn: KmsKeyArn | None = Field(
        None,
        description="KMS key that encrypts the volumes; null = a key that AWS manages. Refused on types with their own "
        "NVMe disk, which the hardware encrypts.",
    )
    inference_ami_version: HostImage | None = Field(
        None,
        description="Host image, which decides on the driver for all models; null = the newest for the type.",
    )
    detailed_observability: bool = Field(
        True, description="EnableDetailedObservability: metrics of engines and accelerators, which CloudWatch bills."
    )
    network_isolation: bool = Field(
        False, description="Run all containers without network access; each deployment then needs `model.weights`."
    )
    reserved_capacity_arn: CapacityArn | None = Field(
        None,
        description="ARN of the reserved capacity (a training plan for endpoints) in which all instances start; null = "
        "on demand.",
    )
    security: Governance = Governance()
    alarms: EndpointAlarms = EndpointAlarms()


@dataclass(frozen=True)
class Shared:
    """A shared endpoint with its name."""

    name: str
    endpoint: SharedEndpoint

    @property
    def stack(self) -> str:
        """The name of the endpoint's stack."""
        return f"{ENDPOINT_PREFIX}{self.name}"

    @property
    def file(self) -> str:
        """The endpoint's file, as messages name it."""
        return f"{FOLDER}/{self.name}.yaml"
