"""The asynchronous endpoint as its template has it: results and their announcement, scaling to zero and back."""

import json

import pytest

from support.templates.template_parts import Template, all_of, only, properties, referred, resources, variant


def policy(template: Template, name: str) -> dict[str, object]:
    (found,) = (
        each for each in all_of(template, "ApplicationAutoScaling::ScalingPolicy") if each["PolicyName"] == name
    )
    return found


def test_results_go_to_the_job_bucket_and_are_announced(templates: dict[str, Template]) -> None:
    template = templates["async"]
    settings = properties(template, "SageMaker::EndpointConfig")["AsyncInferenceConfig"]
    bucket = next(name for name, each in template["Resources"].items() if each["Type"] == "AWS::S3::Bucket")
    output = settings["OutputConfig"]
    assert output["S3OutputPath"] == {"Fn::Join": ["", ["s3://", {"Ref": bucket}, "/output/"]]}
    assert output["S3FailurePath"] == {"Fn::Join": ["", ["s3://", {"Ref": bucket}, "/failure"]]}
    topics = [output["NotificationConfig"][kind]["Ref"] for kind in ("SuccessTopic", "ErrorTopic")]
    assert len(set(topics)) == 2
    assert {template["Resources"][topic]["Type"] for topic in topics} == {"AWS::SNS::Topic"}


@pytest.mark.parametrize(("name", "most"), [("async", 4), ("qwen3-4b-async", 8)])
def test_one_instance_gets_as_many_jobs_at_once_as_the_deployment_says(
    templates: dict[str, Template], name: str, most: int
) -> None:
    settings = properties(templates[name], "SageMaker::EndpointConfig")["AsyncInferenceConfig"]
    assert settings["ClientConfig"] == {"MaxConcurrentInvocationsPerInstance": most}


def test_a_real_time_endpoint_takes_no_asynchronous_calls(templates: dict[str, Template]) -> None:
    assert "AsyncInferenceConfig" not in properties(templates["gpt2"], "SageMaker::EndpointConfig")
    assert resources(templates["gpt2"], "SNS::Topic") == []


def test_the_queue_receives_both_topics_unwrapped(templates: dict[str, Template]) -> None:
    template = templates["async"]
    output = properties(template, "SageMaker::EndpointConfig")["AsyncInferenceConfig"]["OutputConfig"]
    source = properties(template, "Lambda::EventSourceMapping")["EventSourceArn"]
    subscriptions = all_of(template, "SNS::Subscription")
    announced = {json.dumps(topic) for topic in output["NotificationConfig"].values()}
    assert {json.dumps(each["TopicArn"]) for each in subscriptions} == announced
    for each in subscriptions:
        assert (each["Protocol"], each["RawMessageDelivery"]) == ("sqs", True)
        assert each["Endpoint"] == source
        queue = referred(template, source)
        assert each["RedrivePolicy"]["deadLetterTargetArn"] == queue["RedrivePolicy"]["deadLetterTargetArn"]


def test_the_topics_may_send_to_the_queue_and_its_dead_letters(templates: dict[str, Template]) -> None:
    template = templates["async"]
    topics = {name for name, each in template["Resources"].items() if each["Type"] == "AWS::SNS::Topic"}
    policies = all_of(template, "SQS::QueuePolicy")
    assert len(policies) == 2
    for each in policies:
        allowed = [part for part in each["PolicyDocument"]["Statement"] if part["Effect"] == "Allow"]
        assert {part["Condition"]["ArnEquals"]["aws:SourceArn"]["Ref"] for part in allowed} == topics
        assert {part["Action"] for part in allowed} == {"sqs:SendMessage"}


def test_topics_need_no_key_and_take_tls_only(templates: dict[str, Template]) -> None:
    template = templates["async"]
    assert not any("KmsMasterKeyId" in topic for topic in all_of(template, "SNS::Topic"))
    for each in all_of(template, "SNS::TopicPolicy"):
        (denied,) = each["PolicyDocument"]["Statement"]
        assert (denied["Effect"], denied["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_the_count_goes_to_zero_but_an_endpoint_starts_with_an_instance(templates: dict[str, Template]) -> None:
    template = templates["async"]
    target = only(template, "ApplicationAutoScaling::ScalableTarget")
    assert (target["Properties"]["MinCapacity"], target["Properties"]["MaxCapacity"]) == (0, 2)
    assert any(template["Resources"][each]["Type"] == "AWS::SageMaker::Endpoint" for each in target["DependsOn"])
    assert variant(template)["InitialInstanceCount"] == 1


def test_an_update_at_no_instances_starts_one(templates: dict[str, Template]) -> None:
    endpoint = properties(templates["async"], "SageMaker::Endpoint")
    assert endpoint["RetainAllVariantProperties"] is True
    assert endpoint["ExcludeRetainedVariantProperties"] == [{"VariantPropertyType": "DesiredInstanceCount"}]


def test_the_count_follows_the_backlog(templates: dict[str, Template]) -> None:
    template = templates["async"]
    tracking = policy(template, "Backlog")["TargetTrackingScalingPolicyConfiguration"]
    assert isinstance(tracking, dict)
    metric = tracking["CustomizedMetricSpecification"]
    assert (metric["Namespace"], metric["MetricName"]) == ("AWS/SageMaker", "ApproximateBacklogSizePerInstance")
    assert metric["Statistic"] == "Average"
    (dimension,) = metric["Dimensions"]
    assert dimension == {"Name": "EndpointName", "Value": properties(template, "SageMaker::Endpoint")["EndpointName"]}
    assert (tracking["TargetValue"], tracking["ScaleInCooldown"], tracking["ScaleOutCooldown"]) == (8, 60, 60)


def test_the_first_job_wakes_an_endpoint_at_zero(templates: dict[str, Template]) -> None:
    template = templates["async"]
    wake = policy(template, "Wake")
    assert wake["PolicyType"] == "StepScaling"
    steps = wake["StepScalingPolicyConfiguration"]
    assert isinstance(steps, dict)
    assert steps["AdjustmentType"] == "ChangeInCapacity"
    assert steps["StepAdjustments"] == [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}]
    (alarm,) = (
        each for each in all_of(template, "CloudWatch::Alarm") if each.get("MetricName") == "HasBacklogWithoutCapacity"
    )
    (action,) = alarm["AlarmActions"]
    assert template["Resources"][action["Ref"]]["Properties"] == wake
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanOrEqualToThreshold", 1)
    assert (alarm["Period"], alarm["EvaluationPeriods"], alarm["TreatMissingData"]) == (60, 1, "notBreaching")
    assert [each["Name"] for each in alarm["Dimensions"]] == ["EndpointName"]


def test_its_alarms_are_on_metrics_of_asynchronous_endpoints(templates: dict[str, Template]) -> None:
    template = templates["async"]
    rollback = properties(template, "SageMaker::Endpoint")["DeploymentConfig"]["AutoRollbackConfiguration"]["Alarms"]
    watched = [referred(template, each["AlarmName"]) for each in rollback]
    assert {(each["MetricName"], each["Threshold"], each["DatapointsToAlarm"]) for each in watched} == {
        ("ModelFailures", 0.05, 2),
        ("ModelTimeouts", 0.99, 3),  # no invocation is answered for three minutes
    }
    assert {each["Namespace"] for each in watched} == {"Slipway"}
    limits = {(alarm.get("MetricName"), alarm["Threshold"]) for alarm in all_of(template, "CloudWatch::Alarm")}
    assert limits >= {("Invocation5XXErrors", 0.05), ("Invocation4XXErrors", 0.5)}


@pytest.mark.parametrize(
    "metric", ["RequestDownloadFailures", "ResponseUploadFailures", "NotificationFailures", "ExpiredRequests"]
)
def test_failures_of_sagemaker_with_s3_and_sns_raise_alarms_without_a_rollback(
    templates: dict[str, Template], metric: str
) -> None:
    (alarm,) = (each for each in all_of(templates["async"], "CloudWatch::Alarm") if each.get("MetricName") == metric)
    assert [each["Name"] for each in alarm["Dimensions"]] == ["EndpointName", "VariantName"]
    assert (alarm["Statistic"], alarm["Threshold"], alarm["DatapointsToAlarm"]) == ("Sum", 0, 1)
    assert alarm["AlarmActions"]
