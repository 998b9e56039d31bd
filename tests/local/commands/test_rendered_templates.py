"""A rendered template, deployed as it is: functions from the code in it or an archive, archives from a bucket."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from llm_hosting.portable.code.assets import Code
from llm_hosting.portable.template import PortableTemplate, portable_template
from llm_hosting.preflight.validation import load
from llm_hosting.sources import handler_names
from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from slipway.operations.logs import log_groups
from slipway.stack.deployed_stack import find_stack
from support.patience import wait_for
from support.repository import ROOT
from support.stacks.small_stacks import REGION, delete

NAME, PREFIX = "opt-30b", "shared-archives"
BUCKET = f"{PREFIX}-{REGION}"
CODES: tuple[Code, Code] = ("inline", "archive")


@pytest.fixture(scope="module")
def templates(stacks: dict[str, Stack]) -> dict[Code, PortableTemplate]:
    resolution, _ = load(ROOT / "deployments" / f"{NAME}.yaml", handler_names(ROOT))
    assets = {asset.object_key: asset.source for asset in stacks[NAME].assets}
    return {code: portable_template(stacks[NAME].template, NAME, resolution, assets, {}, code) for code in CODES}


@pytest.fixture(scope="module")
def bucket(cloud: LocalCloud, templates: dict[Code, PortableTemplate]) -> Iterator[None]:
    """Make the bucket for the archives and for the templates, which are too large for a request."""
    s3 = cloud.client("s3", region=REGION)
    objects = {code: template.body().encode() for code, template in templates.items()}
    archives = {key: content for template in templates.values() for key, content in template.archives.items()}
    s3.create_bucket(Bucket=BUCKET)
    for key, content in (objects | archives).items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=content)
    yield
    for key in objects | archives:
        s3.delete_object(Bucket=BUCKET, Key=key)
    s3.delete_bucket(Bucket=BUCKET)


def deployed(cloud: LocalCloud, verb: str, code: Code, parameters: dict[str, str]) -> ApiClient:
    """Deploy the template in one form. `verb`: create_stack or update_stack."""
    cloudformation = cloud.client("cloudformation", region=REGION)
    getattr(cloudformation, verb)(
        StackName=NAME,
        TemplateURL=f"https://{BUCKET}.s3.{REGION}.amazonaws.com/{code}",
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
@pytest.mark.parametrize(("before", "after"), [CODES, CODES[::-1]])
def test_an_endpoint_with_an_own_handler_comes_with_its_parameter_and_either_form_replaces_the_other(
    cloud: LocalCloud, templates: dict[Code, PortableTemplate], before: Code, after: Code
) -> None:
    own, body = templates[before].parameters | {"ArchiveBucketPrefix": PREFIX}, {"inputs": "A list is"}
    api = deployed(cloud, "create_stack", before, own | {"DeployEndpoint": "false"})
    for path in ("generate", "jobs"):
        status, headers, content = api.call("POST", path, body)
        assert (status, content["error"]["code"]) == (503, "endpoint_not_deployed")
        assert "retry-after" not in headers
    assert api.call("GET", "endpoint")[2]["status"] == "NotDeployed"
    assert len(log_groups(find_stack(NAME, partial(cloud.client, region=REGION)), "generate")) == 1
    assert api.call("GET", "jobs")[2]["jobs"] == []
    api = deployed(cloud, "update_stack", after, own | {"DeployEndpoint": "true"})
    assert api.call("POST", "generate", body)[0] == 200
    job = api.call("POST", "jobs", body)[2]["id"]
    wait_for(lambda: api.call("GET", f"jobs/{job}")[2]["status"] == "succeeded" or None, "the end of a job")
    delete(cloud, NAME)
