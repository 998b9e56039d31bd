"""Data capture: the endpoint's setting, the bucket that it fills, and who may write there."""

from support.templates.edits import template_of
from support.templates.template_parts import Template, policies, properties, resources

CAPTURED = {"hosting": {"data_capture": {"percent": 20, "content": "input", "retention_in_days": 14}}}


def bucket(template: Template) -> Template:
    found: Template
    (found,) = (
        each
        for name, each in template["Resources"].items()
        if each["Type"] == "AWS::S3::Bucket" and "DataCapture" in name
    )
    return found


def test_the_endpoint_captures_a_share_of_the_prompts() -> None:
    setting = properties(template_of(CAPTURED), "SageMaker::EndpointConfig")["DataCaptureConfig"]
    assert (setting["EnableCapture"], setting["InitialSamplingPercentage"]) == (True, 20)
    assert setting["CaptureOptions"] == [{"CaptureMode": "Input"}]


def test_the_bucket_is_private_expires_and_stays() -> None:
    made = bucket(template_of(CAPTURED))
    (rule,) = made["Properties"]["LifecycleConfiguration"]["Rules"]
    assert rule["ExpirationInDays"] == 14
    assert set(made["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert (made["DeletionPolicy"], made["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    assert {"Key": "slipway:deployment", "Value": {"Ref": "AWS::StackName"}} in made["Properties"]["Tags"]


def test_only_the_execution_role_may_write_and_nobody_may_read() -> None:
    template = template_of(CAPTURED)
    granted = [
        each
        for resource in resources(template, "IAM::Policy")
        for each in resource["Properties"]["PolicyDocument"]["Statement"]
        if "DataCapture" in str(each["Resource"])
    ]
    assert [each["Action"] for each in granted] == ["s3:PutObject"]
    assert granted[0] in [each for policy in policies(template, "EndpointDataCapture") for each in policy["Statement"]]


def test_an_update_of_an_endpoint_that_scales_takes_the_new_setting() -> None:
    scaled = {"hosting": {**CAPTURED["hosting"], "instance_count": {"min": 1, "max": 3}}}
    endpoint = properties(template_of(scaled), "SageMaker::Endpoint")
    assert endpoint["RetainAllVariantProperties"] is True
    assert endpoint["ExcludeRetainedVariantProperties"] == [{"VariantPropertyType": "DataCaptureConfig"}]
