"""`slipway purge` after a destroy deletes what that stack left, and nothing that other stacks left."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import deploy, destroy
from support.patience import wait_for
from support.repository import ROOT
from support.stacks.deployed_stacks import Change, deployed, edited, ended, resource_ids, update
from support.templates.template_parts import Template, properties

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}


def purge(cloud: LocalCloud, stack: Stack, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the command as the user who destroyed the stack; boto3 finds the cloud by AWS_ENDPOINT_URL."""
    environment = {
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_ACCESS_KEY_ID": cloud.deployer.access_key_id,
        "AWS_SECRET_ACCESS_KEY": cloud.deployer.secret_access_key,
        "AWS_REGION": stack.region,
    }
    return subprocess.run(
        [sys.executable, "-m", "slipway", "purge", stack.name, *more],
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def left(cloud: LocalCloud, stack: Stack) -> dict[str, list[str]]:
    """Return tables, buckets and log groups whose names begin with the stack's name."""
    tables = cloud.client("dynamodb", region=stack.region).list_tables()["TableNames"]
    buckets = cloud.client("s3", region=stack.region).list_buckets()["Buckets"]
    logs = cloud.client("logs", region=stack.region)
    groups = logs.describe_log_groups(logGroupNamePrefix=f"/aws/sagemaker/Endpoints/{stack.name}-")["logGroups"]
    names = {
        "tables": tables,
        "buckets": [bucket["Name"] for bucket in buckets],
        "log groups": [group["logGroupName"].rpartition("/")[2] for group in groups],
    }
    return {kind: [name for name in found if name.startswith(f"{stack.name}-")] for kind, found in names.items()}


def hosting(cloud: LocalCloud, stack: Stack) -> set[str]:
    """Return the ARNs of the endpoint configurations and models that carry the stack's name."""
    tagging = cloud.client("resourcegroupstaggingapi", region=stack.region)
    tag = {"Key": "slipway:deployment", "Values": [stack.name]}
    found = tagging.get_resources(TagFilters=[tag])["ResourceTagMappingList"]
    arns = {each["ResourceARN"] for each in found}
    return {arn for arn in arns if ":endpoint-config/" in arn or ":model/" in arn}


def limit_requests(most: str) -> Change:
    def change(template: Template) -> None:
        environment = properties(template, "SageMaker::Model")["PrimaryContainer"]["Environment"]
        environment["MAX_CONCURRENT_REQUESTS"] = most

    return change


def test_retained_resources_are_removed_with_all_versions_and_those_of_others_stay(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    stack, other = replace(stacks["gpt2"], name="purged"), replace(stacks["gpt2"], name="kept")
    deploy(cloud, other)
    destroy(cloud, other)
    client = deployed(cloud, stack)
    for _ in range(3):
        job = ended(client, client.call("POST", "/jobs", BODY)[2])
        assert job["status"] == "succeeded"

    first = hosting(cloud, stack)
    sagemaker = cloud.client("sagemaker", region=stack.region)
    (endpoint,) = resource_ids(cloud, stack, "AWS::SageMaker::Endpoint")
    name = endpoint.rpartition("/")[2]
    before = sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"]
    update(cloud, edited(stacks["gpt2"], tmp_path, limit_requests("16"), stack.name))
    assert hosting(cloud, stack) > first, "an update leaves what it replaces"
    # SageMaker may do so by itself after CloudFormation has finished the update.
    sagemaker.update_endpoint(EndpointName=name, EndpointConfigName=before)
    wait_for(
        lambda: sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"] == "InService" or None, "the way back"
    )
    both = hosting(cloud, stack)
    assert purge(cloud, stack, "--yes").returncode == 0
    assert hosting(cloud, stack) == both, "the stack uses one version and its endpoint the other"
    update(cloud, edited(stacks["gpt2"], tmp_path, limit_requests("8"), stack.name))
    after_update = purge(cloud, stack, "--yes")
    assert after_update.returncode == 0, after_update.stderr
    assert len(hosting(cloud, stack)) == 2
    assert hosting(cloud, stack).isdisjoint(first)

    nothing = purge(cloud, stack, "--yes")
    assert nothing.returncode == 0, nothing.stderr
    assert "Nothing of earlier stacks and updates of purged is left" in nothing.stdout
    assert client.call("GET", f"/jobs/{job['id']}")[0] == 200

    destroy(cloud, stack)
    remains = left(cloud, stack)
    assert all(remains.values()), "a destroy leaves one of each"
    assert not hosting(cloud, stack)

    unanswered = purge(cloud, stack)
    assert unanswered.returncode == 2
    assert "there is no terminal to ask on" in unanswered.stderr
    for names in remains.values():
        assert names[0] in unanswered.stdout
    assert "table: jobs and short answers" in unanswered.stdout
    assert left(cloud, stack) == remains

    s3 = cloud.client("s3", region=stack.region)
    (bucket,) = remains["buckets"]
    key = s3.list_objects_v2(Bucket=bucket)["Contents"][0]["Key"]
    s3.delete_object(Bucket=bucket, Key=key)  # a version and a delete marker stay
    s3.create_multipart_upload(Bucket=bucket, Key="output/unfinished")

    purged = purge(cloud, stack, "--yes")
    assert purged.returncode == 0, purged.stderr
    assert left(cloud, stack) == {"tables": [], "buckets": [], "log groups": []}
    assert all(left(cloud, other).values())

    again = purge(cloud, stack)
    assert again.returncode == 0
    assert "Nothing of purged is left" in again.stdout


def test_missing_permission_is_reported_in_one_sentence(cloud: LocalCloud) -> None:
    stranger = cloud.create_user("stranger", [{"Effect": "Allow", "Action": "sts:*", "Resource": "*"}])
    environment = {
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_ACCESS_KEY_ID": stranger.access_key_id,
        "AWS_SECRET_ACCESS_KEY": stranger.secret_access_key,
    }
    command = [sys.executable, "-m", "slipway", "purge", "nobodys", "--region", "us-east-1", "--yes"]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True)
    assert result.returncode == 1
    assert "AWS does not allow DescribeStacks" in result.stderr
    assert "Traceback" not in result.stderr
