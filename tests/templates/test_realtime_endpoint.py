"""The endpoint as its template has it: timeouts, host image, guardrails, scaling, encryption, permissions."""

import json
from typing import Any

import pytest

Template = dict[str, Any]


def only(template: Template, kind: str) -> dict[str, Any]:
    """The one resource of a type."""
    (resource,) = (each for each in template["Resources"].values() if each["Type"] == kind)
    found: dict[str, Any] = resource
    return found


def variant(template: Template) -> dict[str, Any]:
    (found,) = only(template, "AWS::SageMaker::EndpointConfig")["Properties"]["ProductionVariants"]
    production_variant: dict[str, Any] = found
    return production_variant


def role_statements(template: Template) -> list[dict[str, Any]]:
    """Of the policy that the model's role has."""
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] == "AWS::IAM::Policy" and logical_id.startswith("EndpointRole"):
            statements: list[dict[str, Any]] = resource["Properties"]["PolicyDocument"]["Statement"]
            return statements
    raise AssertionError("the model's role has no policy")


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
    image = json.dumps(only(templates["gpt2"], "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]["Image"])
    assert "AWS::URLSuffix" in image


def test_the_role_may_pull_its_own_repository_only(templates: dict[str, Template]) -> None:
    (pull,) = (each for each in role_statements(templates["qwen3-4b"]) if "ecr:BatchGetImage" in each["Action"])
    assert json.dumps(pull["Resource"]).endswith('":repository/djl-inference"]]}')


def test_the_role_may_write_its_own_log_group_only(templates: dict[str, Template]) -> None:
    template = templates["gpt2"]
    (write,) = (each for each in role_statements(template) if "logs:PutLogEvents" in each["Action"])
    log_group = template["Resources"][write["Resource"]["Fn::GetAtt"][0]]
    assert "/aws/sagemaker/Endpoints/" in json.dumps(log_group["Properties"]["LogGroupName"])


def test_the_last_words_of_a_failed_start_are_kept(templates: dict[str, Template]) -> None:
    groups = [each for each in templates["gpt2"]["Resources"].values() if each["Type"] == "AWS::Logs::LogGroup"]
    (kept,) = (each for each in groups if "LogGroupName" in each["Properties"])
    assert kept["DeletionPolicy"] == "Retain"
    assert kept["Properties"]["RetentionInDays"] == 30


def test_the_model_waits_for_the_policy_of_its_role(templates: dict[str, Template]) -> None:
    waits_for = only(templates["gpt2"], "AWS::SageMaker::Model")["DependsOn"]
    assert any("DefaultPolicy" in logical_id for logical_id in waits_for)


def test_a_bad_update_is_rolled_back_by_alarms_that_exist_before_the_endpoint(templates: dict[str, Template]) -> None:
    template = templates["gpt2"]
    deployment = only(template, "AWS::SageMaker::Endpoint")["Properties"]["DeploymentConfig"]
    alarms = [alarm["AlarmName"]["Ref"] for alarm in deployment["AutoRollbackConfiguration"]["Alarms"]]
    metrics = {template["Resources"][alarm]["Properties"]["MetricName"] for alarm in alarms}
    assert metrics == {"Invocation5XXErrors", "ModelLatency"}
    assert 600 <= deployment["BlueGreenUpdatePolicy"]["MaximumExecutionTimeoutInSeconds"] <= 28800


def test_the_role_may_watch_the_alarms_of_the_rollback_and_no_others(templates: dict[str, Template]) -> None:
    watched = [each["Resource"] for each in role_statements(templates["gpt2"]) if "DescribeAlarms" in each["Action"]]
    alarms = [alarm for each in watched for alarm in (each if isinstance(each, list) else [each])]
    kinds = {templates["gpt2"]["Resources"][alarm["Fn::GetAtt"][0]]["Type"] for alarm in alarms}
    assert (len(alarms), kinds) == (2, {"AWS::CloudWatch::Alarm"})


def test_a_fixed_count_is_never_retained_over_an_update(templates: dict[str, Template]) -> None:
    template = templates["gpt2"]
    assert "RetainAllVariantProperties" not in only(template, "AWS::SageMaker::Endpoint")["Properties"]
    assert not any("ApplicationAutoScaling" in each["Type"] for each in template["Resources"].values())


def test_scaling_follows_requests_in_flight_and_keeps_the_count_over_updates(templates: dict[str, Template]) -> None:
    template = templates["scaled"]
    assert only(template, "AWS::SageMaker::Endpoint")["Properties"]["RetainAllVariantProperties"] is True
    target = only(template, "AWS::ApplicationAutoScaling::ScalableTarget")
    assert (target["Properties"]["MinCapacity"], target["Properties"]["MaxCapacity"]) == (1, 4)
    assert any(template["Resources"][each]["Type"] == "AWS::SageMaker::Endpoint" for each in target["DependsOn"])
    policy = only(template, "AWS::ApplicationAutoScaling::ScalingPolicy")["Properties"]
    tracking = policy["TargetTrackingScalingPolicyConfiguration"]
    metric = tracking["PredefinedMetricSpecification"]["PredefinedMetricType"]
    assert metric == "SageMakerVariantConcurrentRequestsPerModelHighResolution"
    assert tracking["TargetValue"] == 6


def test_alarms_tell_the_topic_when_there_is_one(templates: dict[str, Template]) -> None:
    alarms = [each for each in templates["scaled"]["Resources"].values() if each["Type"] == "AWS::CloudWatch::Alarm"]
    assert {each["Properties"]["AlarmActions"][0] for each in alarms} == {"arn:aws:sns:us-east-1:111122223333:on-call"}


def test_weights_from_s3_are_read_from_their_prefix_only(templates: dict[str, Template]) -> None:
    template = templates["isolated"]
    statements = role_statements(template)
    (read,) = (each for each in statements if each["Action"] == "s3:GetObject")
    assert json.dumps(read["Resource"]).endswith('":s3:::example-weights/models/gpt-j-6b/*"]]}')
    (listing,) = (each for each in statements if each["Action"] == "s3:ListBucket")
    assert listing["Condition"] == {"StringLike": {"s3:prefix": ["models/gpt-j-6b/*"]}}
    source = only(template, "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]["ModelDataSource"]
    assert source["S3DataSource"] == {
        "CompressionType": "None",
        "S3DataType": "S3Prefix",
        "S3Uri": "s3://example-weights/models/gpt-j-6b/",
    }


def test_weights_and_volume_are_encrypted_with_the_keys_of_the_deployment(templates: dict[str, Template]) -> None:
    template = templates["isolated"]
    configuration = only(template, "AWS::SageMaker::EndpointConfig")["Properties"]
    assert configuration["KmsKeyId"].endswith("002")
    assert variant(template)["VolumeSizeInGB"] == 100
    (decrypt,) = (each for each in role_statements(template) if each["Action"] == "kms:Decrypt")
    assert decrypt["Resource"].endswith("001")
    assert only(template, "AWS::SageMaker::Model")["Properties"]["EnableNetworkIsolation"] is True


def test_an_image_of_ones_own_is_pulled_from_its_own_repository(templates: dict[str, Template]) -> None:
    template = templates["own-image"]
    (pull,) = (each for each in role_statements(template) if "ecr:BatchGetImage" in each["Action"])
    assert pull["Resource"] == {"Fn::Sub": "arn:${AWS::Partition}:ecr:${AWS::Region}:444455556666:repository/team/lmi"}
    assert variant(template)["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"


@pytest.mark.parametrize("name", ["gpt2", "qwen3-4b"])
def test_every_start_is_bounded(templates: dict[str, Template], name: str) -> None:
    assert variant(templates[name])["ContainerStartupHealthCheckTimeoutInSeconds"] == 900
    assert variant(templates[name])["ModelDataDownloadTimeoutInSeconds"] == 900
