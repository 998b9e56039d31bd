"""Small stacks with an endpoint for inference components, and one component on it."""

import json
import time
from typing import Any

import requests

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.asynchronous_endpoints import VARIANT, model_resources
from support.stacks.small_stacks import REGION, Resources, arn_of, create, resource, role, statement

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}
TYPE = "ml.g6.12xlarge"  # 4 accelerators, 48 cores, 192 GiB
PERMISSIONS = [statement("ecr:*"), statement("s3:*"), statement("cloudwatch:DescribeAlarms")]


def endpoint_resources(name: str, *, least: int = 0, most: int = 2, instance_type: str = TYPE) -> Resources:
    """Return a role and an endpoint whose configuration names no model."""
    scaling = {"Status": "ENABLED", "MinInstanceCount": least, "MaxInstanceCount": most}
    variant = {
        "VariantName": VARIANT,
        "InstanceType": instance_type,
        "InitialInstanceCount": max(least, 1),
        "ManagedInstanceScaling": scaling,
    }
    properties = {"ExecutionRoleArn": arn_of("Role"), "ProductionVariants": [variant]}
    configuration = {"Fn::GetAtt": ["Config", "EndpointConfigName"]}
    return {
        "Role": role(PERMISSIONS, service="sagemaker"),
        "Config": resource("SageMaker::EndpointConfig", properties),
        "Endpoint": resource("SageMaker::Endpoint", {"EndpointName": name, "EndpointConfigName": configuration}),
    }


def component(name: str, endpoint: str, *, accelerators: int = 4, memory: int = 4096, **more: Any) -> dict[str, Any]:
    """Return a component of the stack's `Model`. more: properties beside the usual ones."""
    specification = {
        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
        "ComputeResourceRequirements": {
            "NumberOfAcceleratorDevicesRequired": accelerators,
            "MinMemoryRequiredInMb": memory,
        },
    }
    properties = {
        "InferenceComponentName": name,
        "EndpointName": endpoint,
        "VariantName": VARIANT,
        "Specification": specification,
        "RuntimeConfig": {"CopyCount": 1},
    }
    return resource("SageMaker::InferenceComponent", properties | more, DependsOn="Endpoint")


def adapter(name: str, endpoint: str, base: str, url: Any) -> dict[str, Any]:
    """Return an adapter of a component, which the stack may hold as `Component`."""
    properties = {
        "InferenceComponentName": name,
        "EndpointName": endpoint,
        "Specification": {"BaseInferenceComponentName": base, "Container": {"ArtifactUrl": url}},
    }
    return resource("SageMaker::InferenceComponent", properties, DependsOn="Component")


def scalable_target(name: str, minimum: int = 0, maximum: int = 2, **more: Any) -> dict[str, Any]:
    """Return a target for the copies of the stack's `Component`. more: properties beside the usual ones."""
    properties = {
        "MinCapacity": minimum,
        "MaxCapacity": maximum,
        "ResourceId": f"inference-component/{name}",
        "ScalableDimension": "sagemaker:inference-component:DesiredCopyCount",
        "ServiceNamespace": "sagemaker",
    }
    return resource("ApplicationAutoScaling::ScalableTarget", properties | more, DependsOn="Component")


def alarm(name: str) -> dict[str, Any]:
    """Return an alarm that nothing but a test sets off."""
    properties = {
        "AlarmName": f"{name}-alarm",
        "MetricName": "Trouble",
        "Namespace": "Tests",
        "Statistic": "Maximum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
    }
    return resource("CloudWatch::Alarm", properties)


class PlacedComponent:
    """A component on an endpoint, whose copies a test changes."""

    def __init__(self, cloud: LocalCloud, name: str, endpoint: str, region: str = REGION) -> None:
        self.cloud, self.name, self._endpoint = cloud, name, endpoint
        self.sagemaker = cloud.client("sagemaker", region=region)

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = self.sagemaker.describe_inference_component(InferenceComponentName=self.name)
        return found

    def copies(self) -> tuple[int, int]:
        """Return the desired and the current count of copies."""
        counts = self.describe()["RuntimeConfig"]
        return counts["DesiredCopyCount"], counts["CurrentCopyCount"]

    def ask_for(self, count: int) -> None:
        """Ask for copies, without waiting for them."""
        self.sagemaker.update_inference_component_runtime_config(
            InferenceComponentName=self.name, DesiredRuntimeConfig={"CopyCount": count}
        )

    def scale_to(self, count: int) -> None:
        """Ask for copies and wait until nothing is in progress."""
        self.ask_for(count)
        self.wait_until_settled()

    def wait_until_settled(self) -> str:
        """Wait until nothing is in progress, and return the status."""

        def status() -> str | None:
            found: str = self.describe()["InferenceComponentStatus"]
            return found if found in ("InService", "Failed") else None

        return wait_for(status, "a component that nobody is changing")

    def fall_asleep(self) -> None:
        """Take the model to zero copies, as its scaling does."""
        self.wait_until_settled()
        # A call that was refused within the last minute keeps the alarm on, which would ask for a copy again.
        self.cloud.advance(90)
        self.wait_until_settled()
        self.scale_to(0)

    def instances(self) -> int:
        (variant,) = self.sagemaker.describe_endpoint(EndpointName=self._endpoint)["ProductionVariants"]
        count: int = variant["CurrentInstanceCount"]
        return count

    def release_instances(self) -> None:
        """Let so much time pass that no instance is left, so that the next copy needs a new one."""

        def is_empty() -> bool | None:
            self.cloud.advance(300)
            return self.instances() == 0 or None

        wait_for(is_empty, "an endpoint without instances")


class DeployedComponent(PlacedComponent):
    """An endpoint with a component of the same name, in a small stack."""

    def __init__(
        self, cloud: LocalCloud, name: str, environment: dict[str, str] | None = None, more: Resources | None = None
    ) -> None:
        self.resources = {
            **endpoint_resources(name),
            **model_resources(environment or {}),
            "Component": component(name, name),
            **(more or {}),
        }
        create(cloud, name, self.resources)
        super().__init__(cloud, name, name)
        self.runtime = cloud.client("sagemaker-runtime", region=REGION)

    def call(self, body: Any = BODY, **request: Any) -> str:
        """Invoke the component, and return the answer."""
        answer = self.runtime.invoke_endpoint(
            **{"EndpointName": self.name, "InferenceComponentName": self.name, "Body": json.dumps(body).encode()}
            | request
        )
        text: str = answer["Body"].read().decode()
        return text


def order(cloud: LocalCloud, request: dict[str, Any]) -> None:
    """Order a fault of instances, or how long they take to start."""
    requests.post(f"{cloud.url}/_slipway/endpoint-instances", json=request, timeout=30).raise_for_status()


def metric(cloud: LocalCloud, component_name: str, name: str) -> float:
    """Return the sum of a component's metric so far."""
    found = cloud.client("cloudwatch", region=REGION).get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName=name,
        Dimensions=[{"Name": "InferenceComponentName", "Value": component_name}],
        StartTime=0,
        EndTime=time.time() + 1_000_000_000,  # the cloud's clock may be far ahead
        Period=86400,
        Statistics=["Sum"],
    )
    return sum(float(each["Sum"]) for each in found["Datapoints"])
