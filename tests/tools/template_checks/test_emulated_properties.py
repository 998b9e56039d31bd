"""The local cloud reports properties that it would ignore, and reads those that it lists as emulated."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from llm_hosting.portable.code.assets import without_assets
from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import deploy
from local_cloud.template_checks.emulated_properties import DATA, findings
from support.deployments.known_deployments import ACCOUNT_SETTINGS
from support.stacks import small_stacks
from support.stacks.asynchronous_endpoints import model_resources
from support.stacks.boundaries import make_boundary
from support.stacks.budget_topic import make_topic
from support.stacks.component_endpoints import adapter, alarm, component, endpoint_resources, scalable_target
from support.stacks.deployed_stacks import edited, ended, update
from support.stacks.small_stacks import create, resource
from support.stand_ins.organizations import REGION, Organization
from support.templates.template_parts import Template, all_of, properties

EMULATED = {name: lists["emulated"] for name, lists in json.loads(DATA.read_text()).items() if lists["emulated"]}


class RecordingCloud(LocalCloud):
    """A local cloud that records which properties of templates it reads."""

    _program = (str(Path(__file__).with_name("recording_emulator.py")),)

    def reads(self) -> dict[str, set[str]]:
        """The paths of the properties that were read, by type."""
        answer = requests.get(f"{self.url}/_slipway/property-reads", timeout=20).json()
        return {name: set(paths) for name, paths in answer.items()}


@pytest.fixture(scope="module")
def cloud() -> Iterator[RecordingCloud]:
    with RecordingCloud(port=free_port()) as running:
        running.wait_until_ready()
        yield running


@pytest.fixture(scope="module")
def reads(
    cloud: RecordingCloud, stacks: dict[str, Stack], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, set[str]]:
    """The properties that are read while stacks, which together use every property, are created, updated and used."""
    deploy(cloud, stacks[ACCOUNT_SETTINGS])
    make_boundary(cloud)
    make_topic(cloud)
    s3 = cloud.client("s3", region=REGION)
    s3.create_bucket(Bucket="example-weights")  # of `private-network`
    s3.put_object(Bucket="example-weights", Key="models/qwen3-0.6b/config.json", Body=b"{}")
    clients = dict[str, ApiClient]()
    for name in (
        "async",
        "canary",
        "customer-keys",
        "front-door",
        "governed",
        "gpt2-ec2",
        "gpt4all-j",
        "private",
        "private-network",
        "rolling",
        "scaled",
        "with-api-key",
        "with-user-pool",
    ):
        client = clients[name] = connect(cloud, deploy(cloud, stacks[name]), stacks[name].region)
        client.call("GET", "/endpoint")
        if name == "governed":  # what is captured, and where, is read only when the model answers
            client.call("POST", "/generate", {"inputs": "A list is"})
            client.call("POST", "/generate", {"inputs": "A list is"})
        if name == "async":  # the locations of outputs and failures are read only when some are written
            for tokens in (1, 999_999):
                body = {"inputs": "A list is", "parameters": {"max_new_tokens": tokens}}
                ended(client, client.call("POST", "/jobs", body)[2])

    def change(template: Template) -> None:
        change_what_is_read_late(template, stacks["pools"].template)
        assets = {each.object_key: each.source for each in stacks["scaled"].assets}
        template.update(without_assets(template, assets, "inline").content)

    update(cloud, edited(stacks["scaled"], tmp_path_factory.mktemp("edited"), change, "scaled"))
    assert clients["scaled"].call("GET", "/endpoint")[0] == 200, "the code in the template answers"
    use_a_stack_set(cloud)
    use_components(cloud)
    cloud.advance(120)  # the targets of rules are read only when the rules are due
    return cloud.reads()


def use_a_stack_set(cloud: RecordingCloud) -> None:
    """Create and update a stack set, and add an account to its unit."""
    organization = Organization(cloud)
    unit = organization.unit("workloads")
    made = {
        "StackSetName": "topics",
        "PermissionModel": "SERVICE_MANAGED",
        "AutoDeployment": {"Enabled": True, "RetainStacksOnAccountRemoval": False},
        "TemplateBody": json.dumps({"Resources": {"Topic": resource("SNS::Topic")}}),
        "StackInstancesGroup": [{"DeploymentTargets": {"OrganizationalUnitIds": [unit]}, "Regions": [REGION]}],
    }
    create(cloud, "sets", {"Set": resource("CloudFormation::StackSet", made)})
    changed = made | {"Tags": [{"Key": "team", "Value": "search"}]}
    small_stacks.update(cloud, "sets", {"Set": resource("CloudFormation::StackSet", changed)})
    account = organization.account(unit)
    organization.wait_for_stacks(account, {"topics": "CREATE_COMPLETE"})
    organization.move(account, unit, organization.root)
    organization.wait_for_stacks(account, {})


def use_components(cloud: RecordingCloud) -> None:
    """Create a component with an adapter and a schedule, and update it in batches."""
    name = "components"
    specification = {"StartupParameters": {"ContainerStartupHealthCheckTimeoutInSeconds": 600}}
    copy = component(name, name, accelerators=1, RuntimeConfig={"CopyCount": 2}, Tags=[])
    copy["Properties"]["Specification"] |= specification
    copy["Properties"]["Specification"]["ComputeResourceRequirements"]["NumberOfCpuCoresRequired"] = 4
    action = {
        "ScheduledActionName": "Morning",
        "Schedule": "cron(0 8 * * ? *)",
        "Timezone": "Europe/Berlin",
        "ScalableTargetAction": {"MinCapacity": 1, "MaxCapacity": 2},
    }
    resources = endpoint_resources(name) | model_resources({"OPTION_ENABLE_LORA": "true"})
    resources |= {"Component": copy, "Target": scalable_target(name, ScheduledActions=[action])}
    scaling = resources["Config"]["Properties"]["ProductionVariants"][0]["ManagedInstanceScaling"]
    scaling["ScaleInPolicy"] = {"Strategy": "IDLE_RELEASE", "CooldownInMinutes": 20}
    resources["Bucket"] = resource("S3::Bucket", {"BucketName": name})
    create(cloud, name, resources)
    for file, content in (("adapter_config.json", b'{"r": 8}'), ("adapter_model.safetensors", b"weights")):
        cloud.client("s3", region=REGION).put_object(Bucket=name, Key=f"adapter/{file}", Body=content)
    resources["Adapter"] = adapter("adapter", name, name, f"s3://{name}/adapter/")
    batches = {"MaximumBatchSize": {"Type": "COPY_COUNT", "Value": 1}, "WaitIntervalInSeconds": 0}
    watched = {"Alarms": [{"AlarmName": {"Ref": "Alarm"}}]}
    resources |= {"Alarm": alarm(name), "Newer": resources.pop("Model")}
    copy["Properties"]["DeploymentConfig"] = {"RollingUpdatePolicy": batches, "AutoRollbackConfiguration": watched}
    copy["Properties"]["Specification"]["ModelName"] = {"Fn::GetAtt": ["Newer", "ModelName"]}
    small_stacks.update(cloud, name, resources)


def change_what_is_read_late(template: Template, of_pools: Template) -> None:
    """Change properties that only updates read; scaling by several metrics is added here to save a stack."""
    properties(template, "SageMaker::EndpointConfig")["ProductionVariants"][0]["InitialVariantWeight"] += 1
    endpoint = properties(template, "SageMaker::Endpoint")
    endpoint["DeploymentConfig"]["BlueGreenUpdatePolicy"]["TerminationWaitInSeconds"] += 1
    endpoint["ExcludeRetainedVariantProperties"] = [{"VariantPropertyType": "DesiredInstanceCount"}]
    name, kind = "TargetTrackingScalingPolicyConfiguration", "ApplicationAutoScaling::ScalingPolicy"
    properties(template, kind)[name] = json.loads(
        json.dumps(properties(of_pools, kind)[name]).replace("ml.g6.2xlarge", "ml.any")
    )
    all_of(template, "Events::Rule")[0]["ScheduleExpression"] = "rate(2 minutes)"


@pytest.mark.parametrize("resource_type", EMULATED)
def test_a_property_listed_as_emulated_is_read(resource_type: str, reads: dict[str, set[str]]) -> None:
    assert set(EMULATED[resource_type]) - reads[resource_type] == set()


def test_what_we_deploy_has_no_findings(stacks: dict[str, Stack]) -> None:
    assert findings(stacks["async"].template) == []


def test_an_unknown_type_is_named() -> None:
    template = {"Resources": {"Machine": {"Type": "AWS::EC2::SpotFleet"}}}
    assert findings(template) == [
        "Machine: the local cloud does not know the type AWS::EC2::SpotFleet; "
        "emulate it, then list it in emulated_properties.json."
    ]


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ({"CanarySetting": {"PercentTraffic": 10}}, "CanarySetting"),
        ({"MethodSettings": [{"HttpMethod": "*", "CachingEnabled": True}]}, "MethodSettings.CachingEnabled"),
        (
            {"AccessLogSetting": {"Fn::If": ["Logged", {"Colour": 1}, {"Ref": "AWS::NoValue"}]}},
            "AccessLogSetting.Colour",
        ),
    ],
)
def test_a_property_that_would_be_ignored_is_named_at_any_depth(properties: dict[str, Any], path: str) -> None:
    template = {"Resources": {"Stage": {"Type": "AWS::ApiGateway::Stage", "Properties": properties}}}
    assert findings(template) == [
        f"Stage (AWS::ApiGateway::Stage): the local cloud would ignore {path}; emulate it, "
        "or list it in emulated_properties.json as not emulated with a reason."
    ]


def test_an_empty_value_asks_for_nothing() -> None:
    properties = {"ApiStages": [{"Stage": "v1", "Throttle": {}}]}
    assert findings({"Resources": {"Plan": {"Type": "AWS::ApiGateway::UsagePlan", "Properties": properties}}}) == []


def test_an_attribute_that_would_be_ignored_is_named() -> None:
    template = {"Resources": {"Stage": {"Type": "AWS::ApiGateway::Stage", "UpdatePolicy": {}}}}
    assert len(findings(template)) == 1
    assert "UpdatePolicy" in findings(template)[0]
