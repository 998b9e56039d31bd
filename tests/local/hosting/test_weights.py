"""Weights from an S3 prefix: read as the execution role before the model starts."""

from dataclasses import replace

import pytest

from local_cloud.api_client import connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy


def test_a_deploy_fails_without_weights_and_succeeds_with_them(cloud: LocalCloud, stacks: dict[str, Stack]) -> None:
    stack = stacks["isolated"]
    s3 = cloud.client("s3", region=stack.region)
    s3.create_bucket(Bucket="example-weights")
    s3.put_object(Bucket="example-weights", Key="models/another/config.json", Body=b"{}")
    with pytest.raises(DeployError, match="s3://example-weights/models/gpt-j-6b/"):
        deploy(cloud, replace(stack, name="weightless"))
    s3.put_object(Bucket="example-weights", Key="models/gpt-j-6b/config.json", Body=b"{}")
    client = connect(cloud, deploy(cloud, stack), stack.region)
    assert client.call("POST", "/generate", {"inputs": "A list is"})[0] == 200
