"""The endpoint as its template has it: timeouts, host image, guardrails, scaling, encryption, permissions."""

import json
import re
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from llm_hosting.deployment.settings.operating import Logs
from llm_hosting.endpoint.container_image import ContainerImage
from llm_hosting.endpoint.execution_role import METRICS as METRICS_OF_ENDPOINTS
from llm_hosting.endpoint.execution_role import ExecutionRole
from llm_hosting.log_group import LogGroup
from support.deployments.good_one import deployment
from support.templates.template_parts import (
    Template,
    all_of,
    logical_id,
    only,
    policies,
    properties,
    referred,
    resources,
    variant,
)

METRICS = {"Invocation5XXErrors", "InvocationModelErrors", "ModelLatency"}
# Callers can't raise these alarms, unlike alarms on SageMaker's error metrics, which also count callers' mistakes.
FAILURES, LATENCY = {("Slipway", "ModelFailures"), ("Slipway", "ModelTimeouts")}, {("AWS/SageMaker", "ModelLatency")}


def role_statements(template: Template) -> list[dict[str, Any]]:
    """Return the statements of all policies of the model's role."""
    return [statement for document in policies(template, "Endpoint") for statement in document["Statement"]]


def rollback_alarms(template: Template) -> list[str]:
    """Return the logical ids of the alarms that roll an update back."""
    configuration = properties(template, "SageMaker::Endpoint")["DeploymentConfig"]["AutoRollbackConfiguration"]
    return [alarm["AlarmName"]["Ref"] for alarm in configuration["Alarms"]]


def test_a_cuda_13_image_gets_the_host_image_it_needs(templates: dict[str, Template]) -> None:
    assert variant(templates["qwen3-4b"])["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"


def test_a_cuda_12_image_gets_a_newer_driver_than_the_default_of_its_family(templates: dict[str, Template]) -> None:
    assert variant(templates["gpt2"])["InferenceAmiVersion"] == "al2-ami-sagemaker-inference-gpu-3-1"


def test_the_image_account_follows_the_region_in_every_partition(templates: dict[str, Template]) -> None:
    accounts = next(iter(templates["gpt2"]["Mappings"].values()))
    assert accounts["us-east-1"] == {"Account": "763104351884"}
    assert accounts["af-south-1"] == {"Account": "626614931356"}
    assert accounts["cn-north-1"] == {"Account": "727897471807"}
    assert accounts["us-gov-west-1"] == {"Account": "442386744353"}
    image = json.dumps(properties(templates["gpt2"], "SageMaker::Model")["PrimaryContainer"]["Image"])
    assert "AWS::URLSuffix" in image


def test_tei_s_image_comes_from_the_accounts_of_the_algorithms(templates: dict[str, Template]) -> None:
    accounts = next(iter(templates["bge-small"]["Mappings"].values()))
    assert accounts["us-east-1"] == {"Account": "683313688378"}
    assert "ap-east-2" not in accounts  # which has no such image


def test_the_role_may_pull_its_own_repository_only(templates: dict[str, Template]) -> None:
    (pull,) = (each for each in role_statements(templates["qwen3-4b"]) if "ecr:BatchGetImage" in each["Action"])
    assert json.dumps(pull["Resource"]).endswith('":repository/djl-inference"]]}')


def test_the_role_may_write_its_own_log_group_only(templates: dict[str, Template]) -> None:
    template = templates["gpt2"]
    (write,) = (each for each in role_statements(template) if "logs:PutLogEvents" in each["Action"])
    log_group = template["Resources"][write["Resource"]["Fn::GetAtt"][0]]
    assert "/aws/sagemaker/Endpoints/" in json.dumps(log_group["Properties"]["LogGroupName"])


def test_the_log_of_a_failed_start_is_kept(templates: dict[str, Template]) -> None:
    (kept,) = (each for each in resources(templates["gpt2"], "Logs::LogGroup") if "LogGroupName" in each["Properties"])
    assert kept["DeletionPolicy"] == "Retain"
    assert kept["Properties"]["RetentionInDays"] == 30
    assert kept["Properties"]["Tags"] == [{"Key": "slipway:deployment", "Value": {"Ref": "AWS::StackName"}}]


def test_the_model_waits_for_the_policy_of_its_role(templates: dict[str, Template]) -> None:
    waits_for = only(templates["gpt2"], "SageMaker::Model")["DependsOn"]
    assert any("DefaultPolicy" in logical_id for logical_id in waits_for)


@pytest.mark.parametrize(("name", "longest_in_seconds"), [("jobs-off", 25), ("gpt2", 480)])
def test_alarms_on_the_new_configuration_alone_roll_a_bad_update_back(
    templates: dict[str, Template], name: str, longest_in_seconds: int
) -> None:
    template = templates[name]
    alarms = [template["Resources"][name]["Properties"] for name in rollback_alarms(template)]
    assert {(alarm["Namespace"], alarm["MetricName"]) for alarm in alarms} == FAILURES | LATENCY
    (latency,) = (alarm for alarm in alarms if alarm["MetricName"] == "ModelLatency")
    assert latency["Threshold"] == longest_in_seconds * 1_000_000, "jobs may take longer than the latency's limit"
    dimensions = [{each["Name"]: each["Value"] for each in alarm["Dimensions"]} for alarm in alarms]
    name = properties(template, "SageMaker::Endpoint")["EndpointConfigName"]
    assert all(each["EndpointConfigName"] == name for each in dimensions)


def test_an_update_has_enough_time_for_the_start_of_its_instances(templates: dict[str, Template]) -> None:
    policy = properties(templates["gpt2"], "SageMaker::Endpoint")["DeploymentConfig"]["BlueGreenUpdatePolicy"]
    assert 900 + 900 <= policy["MaximumExecutionTimeoutInSeconds"] <= 28800
    # CloudFormation's schema requires only the type; the API requires both (botocore, TrafficRoutingConfig).
    assert policy["TrafficRoutingConfiguration"] == {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0}


def test_alarms_have_the_thresholds_of_the_deployment(templates: dict[str, Template]) -> None:
    limits = {
        (alarm["MetricName"], alarm.get("Statistic") or alarm["ExtendedStatistic"], alarm["Threshold"])
        for alarm in all_of(templates["jobs-off"], "CloudWatch::Alarm")
        if alarm.get("Namespace") == "AWS/SageMaker" and alarm["MetricName"] in METRICS
    }
    assert limits == {
        ("Invocation5XXErrors", "Average", 0.05),
        ("InvocationModelErrors", "Average", 0.5),
        ("ModelLatency", "p99", 25_000_000),  # microseconds
    }


@pytest.mark.parametrize("name", ["gpt2", "jobs-off"])
def test_the_role_may_read_the_rollback_alarms_and_no_others(templates: dict[str, Template], name: str) -> None:
    template = templates[name]
    (watch,) = (each for each in role_statements(template) if "cloudwatch:DescribeAlarms" in each["Action"])
    readable = watch["Resource"] if isinstance(watch["Resource"], list) else [watch["Resource"]]
    assert {logical_id(each) for each in readable} == set(rollback_alarms(template))


def test_a_fixed_count_is_never_retained_over_an_update(templates: dict[str, Template]) -> None:
    template = templates["gpt2"]
    assert "RetainAllVariantProperties" not in properties(template, "SageMaker::Endpoint")
    assert not any("ApplicationAutoScaling" in each["Type"] for each in template["Resources"].values())


def test_scaling_follows_requests_in_flight_and_keeps_the_count_over_updates(templates: dict[str, Template]) -> None:
    template = templates["scaled"]
    endpoint = properties(template, "SageMaker::Endpoint")
    assert endpoint["RetainAllVariantProperties"] is True
    assert "ExcludeRetainedVariantProperties" not in endpoint
    target = only(template, "ApplicationAutoScaling::ScalableTarget")
    assert (target["Properties"]["MinCapacity"], target["Properties"]["MaxCapacity"]) == (1, 4)
    assert any(template["Resources"][each]["Type"] == "AWS::SageMaker::Endpoint" for each in target["DependsOn"])
    policy = properties(template, "ApplicationAutoScaling::ScalingPolicy")
    tracking = policy["TargetTrackingScalingPolicyConfiguration"]
    metric = tracking["PredefinedMetricSpecification"]["PredefinedMetricType"]
    assert metric == "SageMakerVariantConcurrentRequestsPerModelHighResolution"
    assert tracking["TargetValue"] == 6


def test_scaling_of_several_types_follows_the_type_with_most_requests_in_flight(templates: dict[str, Template]) -> None:
    policy = properties(templates["pools"], "ApplicationAutoScaling::ScalingPolicy")
    *types, busiest = policy["TargetTrackingScalingPolicyConfiguration"]["CustomizedMetricSpecification"]["Metrics"]
    metrics = [each["MetricStat"]["Metric"] for each in types]
    assert {each["MetricName"] for each in metrics} == {"ConcurrentRequestsPerModel"}
    dimensions = [{each["Name"]: each["Value"] for each in metric["Dimensions"]} for metric in metrics]
    assert [each["InstanceType"] for each in dimensions] == ["ml.g6.2xlarge", "ml.g5.2xlarge", "ml.g6e.2xlarge"]
    assert all(each.keys() == {"EndpointName", "VariantName", "InstanceType"} for each in dimensions)
    # A type without instances has no data, and a sum has no data where one of its series has none.
    assert busiest["Expression"] == "MAX([FILL(type1, 0), FILL(type2, 0), FILL(type3, 0)])"
    assert [each["ReturnData"] for each in (*types, busiest)] == [False, False, False, True]


@pytest.mark.parametrize("name", ["scaled", "async"])
def test_an_alarm_tells_of_instances_that_run_for_a_day_without_a_request(
    templates: dict[str, Template], name: str
) -> None:
    (alarm,) = idle_alarms(templates[name])
    stats = {each["Id"]: each["MetricStat"] for each in alarm["Metrics"] if "MetricStat" in each}
    # Both kinds of endpoints have these metrics. Without requests or instances there is no data.
    names = {each: stat["Metric"]["MetricName"] for each, stat in stats.items()}
    assert names == {"calls": "ModelLatency", "running": "CPUUtilization"}
    assert {(stat["Stat"], stat["Period"]) for stat in stats.values()} == {("SampleCount", 3600)}
    (expression,) = (each["Expression"] for each in alarm["Metrics"] if "Expression" in each)
    assert expression == "IF(running > 0 AND FILL(calls, 0) < 1, 1, 0)"
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert (alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]) == (24, 24)
    assert alarm["TreatMissingData"] == "notBreaching", "or it is on before there is an endpoint"
    assert alarm["AlarmActions"]


def test_the_alarm_on_idle_instances_can_be_left_out(templates: dict[str, Template]) -> None:
    assert not idle_alarms(templates["pools"])


def idle_alarms(template: Template) -> list[dict[str, Any]]:
    return [each for each in all_of(template, "CloudWatch::Alarm") if "CPUUtilization" in json.dumps(each)]


def test_alarms_notify_the_topic_if_there_is_one(templates: dict[str, Template]) -> None:
    telling = [alarm for alarm in all_of(templates["scaled"], "CloudWatch::Alarm") if "AlarmActions" in alarm]
    assert {alarm.get("MetricName") for alarm in telling} >= METRICS
    assert {alarm["AlarmActions"][0] for alarm in telling} == {"arn:aws:sns:us-east-1:111122223333:on-call"}
    assert not any("AlarmActions" in alarm for alarm in all_of(templates["gpt2"], "CloudWatch::Alarm"))


def test_weights_from_s3_are_read_from_their_prefix_only(templates: dict[str, Template]) -> None:
    template = templates["isolated"]
    statements = role_statements(template)
    (read,) = (each for each in statements if each["Action"] == "s3:GetObject")
    assert json.dumps(read["Resource"]).endswith('":s3:::example-weights/models/gpt-j-6b/*"]]}')
    (listing,) = (each for each in statements if each["Action"] == "s3:ListBucket")
    assert listing["Condition"] == {"StringLike": {"s3:prefix": ["models/gpt-j-6b/*"]}}
    source = properties(template, "SageMaker::Model")["PrimaryContainer"]["ModelDataSource"]
    assert source["S3DataSource"] == {
        "CompressionType": "None",
        "S3DataType": "S3Prefix",
        "S3Uri": "s3://example-weights/models/gpt-j-6b/",
    }


def test_weights_and_volume_are_encrypted_with_the_keys_of_the_deployment(templates: dict[str, Template]) -> None:
    template = templates["isolated"]
    configuration = properties(template, "SageMaker::EndpointConfig")
    assert configuration["KmsKeyId"].endswith("002")
    assert variant(template)["VolumeSizeInGB"] == 100
    (decrypt,) = (each for each in role_statements(template) if each["Action"] == "kms:Decrypt")
    assert decrypt["Resource"].endswith("001")
    assert properties(template, "SageMaker::Model")["EnableNetworkIsolation"] is True


def test_an_own_image_is_pulled_from_its_own_repository(templates: dict[str, Template]) -> None:
    template = templates["own-image"]
    (pull,) = (each for each in role_statements(template) if "ecr:BatchGetImage" in each["Action"])
    assert pull["Resource"] == {"Fn::Sub": "arn:${AWS::Partition}:ecr:${AWS::Region}:444455556666:repository/team/lmi"}
    assert variant(template)["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"


def test_only_sagemaker_for_this_account_and_region_may_assume_the_role(templates: dict[str, Template]) -> None:
    template = templates["gpt2"]
    role = referred(template, properties(template, "SageMaker::Model")["ExecutionRoleArn"])
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    source = ["arn:", ref("Partition"), ":sagemaker:", ref("Region"), ":", ref("AccountId"), ":*"]
    assert statement["Condition"] == {"ArnLike": {"aws:SourceArn": {"Fn::Join": ["", source]}}}


def ref(name: str) -> dict[str, str]:
    return {"Ref": f"AWS::{name}"}


@pytest.mark.parametrize("kind", ["SageMaker::Model", "SageMaker::EndpointConfig"])
def test_replaced_models_and_configurations_stay_while_a_rollback_may_need_them(
    templates: dict[str, Template], kind: str
) -> None:
    resource = only(templates["gpt2"], kind)
    assert resource["UpdateReplacePolicy"] == "Retain"
    assert resource["DeletionPolicy"] == "Delete"
    assert resource["Properties"]["Tags"] == [{"Key": "slipway:deployment", "Value": {"Ref": "AWS::StackName"}}]


def test_other_artefacts_are_allowed_by_another_policy_beside_the_first() -> None:
    first, same, other = (artefact_policies(f"s3://example/{name}/") for name in ("first", "first", "other"))
    assert first == same
    assert len(first) == 1
    assert first.isdisjoint(other)


def artefact_policies(weights: str) -> set[str]:
    """Return the logical ids of the policies that let the role read these weights."""
    stack = cdk.Stack(cdk.App(), "stack")
    log_group = LogGroup(stack, "LogGroup", retention_in_days=Logs().retention_in_days)
    role = ExecutionRole(stack, "Role", log_group=log_group, namespaces=METRICS_OF_ENDPOINTS)
    model = deployment({"model": {"weights": weights}}).model
    role.allow_artefacts(model, None, ContainerImage(stack, "Image", image="djl-inference:0.36.0"), None)
    resources = assertions.Template.from_stack(stack).to_json()["Resources"]
    return {name for name, each in resources.items() if weights.split("/")[-2] in json.dumps(each)}


def test_detailed_observability_is_set_and_its_page_is_an_output(templates: dict[str, Template]) -> None:
    for name, enabled in (("gpt2", True), ("pools", False)):
        metrics = properties(templates[name], "SageMaker::EndpointConfig")["MetricsConfig"]
        assert metrics == {"EnableDetailedObservability": enabled}
        assert ("EndpointPage" in templates[name]["Outputs"]) is enabled


def test_routing_is_as_the_deployment_says(templates: dict[str, Template]) -> None:
    assert variant(templates["gpt2"])["RoutingConfig"] == {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}
    assert variant(templates["pools"])["RoutingConfig"] == {
        "RoutingStrategy": "PREFIX_AWARE",
        "PrefixAwareRoutingConfig": {"ConcurrencyThreshold": 8, "PrefixLength": 4096},
    }


def test_the_time_to_find_instances_is_as_the_deployment_says(templates: dict[str, Template]) -> None:
    assert "VariantInstanceProvisionTimeoutInSeconds" not in variant(templates["gpt2"])
    assert variant(templates["pools"])["VariantInstanceProvisionTimeoutInSeconds"] == 600


@pytest.mark.parametrize("name", ["gpt2", "qwen3-4b"])
def test_every_start_has_a_timeout(templates: dict[str, Template], name: str) -> None:
    assert variant(templates[name])["ContainerStartupHealthCheckTimeoutInSeconds"] == 900
    assert variant(templates[name])["ModelDataDownloadTimeoutInSeconds"] == 900


def test_several_instance_types_are_pools_by_priority(templates: dict[str, Template]) -> None:
    several = variant(templates["pools"])
    assert "InstanceType" not in several
    assert [(pool["InstanceType"], pool["Priority"]) for pool in several["InstancePools"]] == [
        ("ml.g6.2xlarge", 1),
        ("ml.g5.2xlarge", 2),
        ("ml.g6e.2xlarge", 3),
    ]


@pytest.mark.parametrize("name", ["gpt2", "async", "scaled", "jobs-off", "with-api-key", "qwen3-4b-async"])
def test_nothing_is_created_after_the_endpoint_but_its_scaling(templates: dict[str, Template], name: str) -> None:
    template = templates[name]
    (endpoint,) = (each for each, part in template["Resources"].items() if part["Type"] == "AWS::SageMaker::Endpoint")
    rest = template["Resources"].keys() - created_before(template, endpoint) - {endpoint}
    assert all("Scaling" in each for each in rest), rest
    assert bool(rest) == bool(resources(template, "ApplicationAutoScaling::ScalableTarget"))
    assert all(endpoint in created_before(template, each) for each in rest)


def created_before(template: Template, resource: str) -> set[str]:
    """Return the resources that CloudFormation creates before this one: all that it names, directly or indirectly."""
    found: set[str] = set()
    left = [resource]
    while left:
        new = named_by(template["Resources"][left.pop()]) & template["Resources"].keys() - found
        found |= new
        left += new
    assert resource not in found, "a circle"
    return found


def named_by(part: Any) -> set[str]:
    """Return the logical ids on which a resource depends, by DependsOn, Ref, Fn::GetAtt or Fn::Sub."""
    if isinstance(part, list):
        return {name for each in part for name in named_by(each)}
    if not isinstance(part, dict):
        return set()
    names = {name for each in part.values() for name in named_by(each)}
    depends = part.get("DependsOn", [])
    names |= {depends} if isinstance(depends, str) else set(depends)
    if isinstance(part.get("Ref"), str):
        names.add(part["Ref"])
    if "Fn::GetAtt" in part:
        names.add(part["Fn::GetAtt"][0])
    if "Fn::Sub" in part:
        names |= set(re.findall(r"\$\{(\w+)", json.dumps(part["Fn::Sub"])))
    return names
