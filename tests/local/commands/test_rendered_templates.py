"""A rendered template, deployed as it is: functions from the code in it or an archive, archives from a bucket."""

from collections.abc import Iterator
from typing import Any

import pytest

from llm_hosting.portable.template import PortableTemplate, portable_template
from llm_hosting.preflight.validation import load
from llm_hosting.sources import handler_names
from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.repository import ROOT
from support.stacks.small_stacks import REGION, delete

NAME, PREFIX = "opt-30b", "shared-archives"
BUCKET = f"{PREFIX}-{REGION}"


@pytest.fixture(scope="module", params=["inline", "archive"])
def template(stacks: dict[str, Stack], request: pytest.FixtureRequest) -> PortableTemplate:
    resolution, _ = load(ROOT / "deployments" / f"{NAME}.yaml", handler_names(ROOT))
    assets = {asset.object_key: asset.source for asset in stacks[NAME].assets}
    return portable_template(stacks[NAME].template, NAME, resolution, assets, {}, request.param)


@pytest.fixture(scope="module")
def bucket(cloud: LocalCloud, template: PortableTemplate) -> Iterator[None]:
    """Make the bucket for the archives and for the template, which is too large for a request."""
    s3, objects = cloud.client("s3", region=REGION), template.archives | {"template": template.body().encode()}
    s3.create_bucket(Bucket=BUCKET)
    for key, content in objects.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=content)
    yield
    for key in objects:
        s3.delete_object(Bucket=BUCKET, Key=key)
    s3.delete_bucket(Bucket=BUCKET)


def deployed(cloud: LocalCloud, verb: str, parameters: dict[str, str]) -> ApiClient:
    """Deploy the template. `verb`: create_stack or update_stack."""
    cloudformation = cloud.client("cloudformation", region=REGION)
    getattr(cloudformation, verb)(
        StackName=NAME,
        TemplateURL=f"https://s3.{REGION}.amazonaws.com/{BUCKET}/template",
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        Capabilities=["CAPABILITY_IAM"],
    )

    def settled() -> Any:
        described = cloudformation.describe_stacks(StackName=NAME)["Stacks"][0]
        return None if described["StackStatus"].endswith("PROGRESS") else described

    stack = wait_for(settled, f"the end of {NAME}")
    assert stack["StackStatus"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE")
    return connect(cloud, {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}, REGION)


@pytest.mark.usefixtures("bucket")
def test_an_endpoint_with_an_own_handler_comes_with_its_parameter(
    cloud: LocalCloud, template: PortableTemplate
) -> None:
    own, body = template.parameters | {"ArchiveBucketPrefix": PREFIX}, {"inputs": "A list is"}
    api = deployed(cloud, "create_stack", own | {"DeployEndpoint": "false"})
    for path in ("generate", "jobs"):
        status, headers, content = api.call("POST", path, body)
        assert (status, content["error"]["code"]) == (503, "endpoint_not_deployed")
        assert "retry-after" not in headers
    assert api.call("GET", "endpoint")[2]["status"] == "NotDeployed"
    assert api.call("GET", "jobs")[2]["jobs"] == []
    api = deployed(cloud, "update_stack", own | {"DeployEndpoint": "true"})
    assert api.call("POST", "generate", body)[0] == 200
    job = api.call("POST", "jobs", body)[2]["id"]
    wait_for(lambda: api.call("GET", f"jobs/{job}")[2]["status"] == "succeeded" or None, "the end of a job")
    delete(cloud, NAME)
