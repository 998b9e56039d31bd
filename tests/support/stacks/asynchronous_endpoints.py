"""Small stacks with one endpoint each; most endpoints are asynchronous."""

import json
import time
import uuid
from typing import Any

from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.small_stacks import REGION, Resources, arn_of, create, resource, role, statement

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}
VARIANT = "AllTraffic"
IMAGE = f"763104351884.dkr.ecr.{REGION}.amazonaws.com/djl-inference:0.36.0-lmi28.0.0-cu130"
# The permissions that the role of an asynchronous endpoint needs, by service.
PULL, READ, WRITE = statement("ecr:*"), statement("s3:GetObject"), statement("s3:PutObject")
PUBLISH = statement("sns:Publish")
EVERYTHING = [PULL, READ, WRITE, PUBLISH]


def endpoint_resources(
    *,
    statements: list[dict[str, Any]] | None = None,
    environment: dict[str, str] | None = None,
    concurrency: int | None = None,
) -> Resources:
    """Return a bucket, two topics that reach one queue, and an endpoint that uses them."""
    topics = {"SuccessTopic": {"Ref": "SuccessTopic"}, "ErrorTopic": {"Ref": "ErrorTopic"}}
    asynchronous: dict[str, Any] = {
        "OutputConfig": {
            "S3OutputPath": {"Fn::Sub": "s3://${Bucket}/output"},
            "S3FailurePath": {"Fn::Sub": "s3://${Bucket}/failure/"},
            "NotificationConfig": topics,
        }
    }
    if concurrency:
        asynchronous["ClientConfig"] = {"MaxConcurrentInvocationsPerInstance": concurrency}
    return {
        "Bucket": resource("S3::Bucket"),
        **_notification_resources(),
        "Role": role(EVERYTHING if statements is None else statements, service="sagemaker"),
        **model_resources(environment or {}),
        "Config": resource(
            "SageMaker::EndpointConfig", {"ProductionVariants": [variant()], "AsyncInferenceConfig": asynchronous}
        ),
        "Endpoint": resource(
            "SageMaker::Endpoint", {"EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]}}
        ),
    }


def realtime_resources(name: str, environment: dict[str, str] | None = None) -> Resources:
    """Return the resources of a real-time endpoint with this name."""
    configuration = {"Fn::GetAtt": ["Config", "EndpointConfigName"]}
    return {
        "Role": role([*EVERYTHING, statement("cloudwatch:DescribeAlarms")], service="sagemaker"),
        **model_resources(environment or {}),
        "Config": resource("SageMaker::EndpointConfig", {"ProductionVariants": [variant()]}),
        "Endpoint": resource("SageMaker::Endpoint", {"EndpointName": name, "EndpointConfigName": configuration}),
    }


def named(resources: Resources, name: str) -> Resources:
    """Return the resources with this name for the endpoint."""
    endpoint = resources["Endpoint"]
    return resources | {"Endpoint": endpoint | {"Properties": endpoint["Properties"] | {"EndpointName": name}}}


def model_resources(environment: dict[str, str]) -> Resources:
    container = {"Image": IMAGE, "Environment": {"HF_MODEL_ID": "gpt2"} | environment}
    return {"Model": resource("SageMaker::Model", {"ExecutionRoleArn": arn_of("Role"), "PrimaryContainer": container})}


def variant() -> dict[str, Any]:
    return {
        "VariantName": VARIANT,
        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
        "InstanceType": "ml.g6.2xlarge",
        "InitialInstanceCount": 1,
    }


def _notification_resources() -> Resources:
    from_sns = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn_of("Queue"),
    }
    document = {"Version": "2012-10-17", "Statement": [from_sns]}
    found: Resources = {
        "Queue": resource("SQS::Queue"),
        "QueuePolicy": resource("SQS::QueuePolicy", {"Queues": [{"Ref": "Queue"}], "PolicyDocument": document}),
    }
    for topic in ("SuccessTopic", "ErrorTopic"):
        found[topic] = resource("SNS::Topic")
        found[f"{topic}Subscription"] = resource(
            "SNS::Subscription",
            {
                "Protocol": "sqs",
                "Endpoint": arn_of("Queue"),
                "TopicArn": {"Ref": topic},
                "RawMessageDelivery": True,
            },
        )
    return found


class DeployedEndpoint:
    """An asynchronous endpoint, its outputs and its notifications."""

    def __init__(self, cloud: LocalCloud, stack: str, resources: Resources) -> None:
        self.cloud, self.name = cloud, stack
        self.ids = create(cloud, stack, named(resources, stack))
        self.bucket = self.ids["Bucket"]
        self.runtime = cloud.client("sagemaker-runtime", region=REGION)
        self.sagemaker = cloud.client("sagemaker", region=REGION)
        self.s3 = cloud.client("s3", region=REGION)
        self._told: list[dict[str, Any]] = []

    def submit(self, body: Any = BODY, **request: Any) -> dict[str, Any]:
        """Put the body into the bucket and invoke the endpoint with that object."""
        key = f"input/{uuid.uuid4()}"
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=json.dumps(body).encode())
        location = f"s3://{self.bucket}/{key}"
        response: dict[str, Any] = self.runtime.invoke_endpoint_async(
            EndpointName=self.name, InputLocation=location, ContentType="application/json", **request
        )
        return response

    def told_of(self, response: dict[str, Any]) -> dict[str, Any]:
        """Return the only notification about an invocation; fail if there are several."""
        wait_for(lambda: self.told_about(response) or None, "a notification")
        (notification,) = self.told_about(response)
        return notification

    def told_about(self, response: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the notifications about an invocation so far."""
        return [each for each in self.told() if each["inferenceId"] == response["InferenceId"]]

    def told(self) -> list[dict[str, Any]]:
        """Return all notifications so far, the oldest first."""
        sqs = self.cloud.client("sqs", region=REGION)
        queue = self.ids["Queue"]
        while messages := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                self._told.append(json.loads(message["Body"]))
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return self._told

    def read(self, location: str) -> tuple[str, str]:
        """Return the content and the content type of an object."""
        found = self.s3.get_object(Bucket=self.bucket, Key=location.removeprefix(f"s3://{self.bucket}/"))
        return found["Body"].read().decode(), found["ContentType"]

    def keys(self, prefix: str) -> list[str]:
        listed = self.s3.list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return [item["Key"] for item in listed.get("Contents", [])]

    def scale_to(self, count: int) -> None:
        """Set the number of instances by hand, and wait until the endpoint has it."""
        wait_for(lambda: self._set_count(count) or None, "an endpoint that nobody else is changing")
        self.wait_until_in_service()
        assert self.instances() == count

    def _set_count(self, count: int) -> bool:
        try:
            self.sagemaker.update_endpoint_weights_and_capacities(
                EndpointName=self.name,
                DesiredWeightsAndCapacities=[{"VariantName": VARIANT, "DesiredInstanceCount": count}],
            )
        except ClientError as error:
            if "in-progress" not in error.response["Error"]["Message"]:
                raise
            return False
        return True

    def wait_until_in_service(self) -> None:
        wait_for(lambda: self.describe()["EndpointStatus"] == "InService" or None, "InService")

    def instances(self) -> int:
        count: int = self.describe()["ProductionVariants"][0]["CurrentInstanceCount"]
        return count

    def desired_instances(self) -> int:
        count: int = self.describe()["ProductionVariants"][0]["DesiredInstanceCount"]
        return count

    def metric(self, name: str, statistic: str = "Sum", **dimensions: str) -> float:
        """Return a statistic of all data points of the metric so far; 0 without data."""
        found = self.cloud.client("cloudwatch", region=REGION).get_metric_statistics(
            Namespace="AWS/SageMaker",
            MetricName=name,
            Dimensions=[
                {"Name": each, "Value": value} for each, value in {"EndpointName": self.name, **dimensions}.items()
            ],
            StartTime=0,
            EndTime=time.time() + 1_000_000_000,  # the cloud's clock may be far ahead
            Period=86400,
            Statistics=[statistic],
        )
        values = [float(each[statistic]) for each in found["Datapoints"]]
        return sum(values) if statistic == "Sum" else max(values, default=0.0)

    def config(self) -> dict[str, Any]:
        """Describe the endpoint's configuration."""
        name = self.describe()["EndpointConfigName"]
        found: dict[str, Any] = self.sagemaker.describe_endpoint_config(EndpointConfigName=name)
        return found

    def describe(self) -> dict[str, Any]:
        """Describe the endpoint."""
        found: dict[str, Any] = self.sagemaker.describe_endpoint(EndpointName=self.name)
        return found
