"""The template's functions of jobs: their triggers, timeouts and alarms."""

import json
from importlib import import_module
from typing import Any

import pytest

from inference_api.handlers import every_minute, route
from inference_api.shared.settings import settings
from support.templates.template_parts import Template, all_of, functions, logical_id, properties, referred, resources

JOB_TYPES = ("DynamoDB::Table", "S3::Bucket", "SQS::Queue", "SNS::Topic", "Events::Rule", "Lambda::EventSourceMapping")
TOPIC = "arn:aws:sns:us-east-1:111122223333:on-call"


def routes(template: Template) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the methods of the API by verb and path."""

    def path(reference: Any) -> str:
        part = referred(template, reference)
        return f"{path(part['ParentId'])}/{part['PathPart']}" if "PathPart" in part else ""

    return {(each["HttpMethod"], path(each["ResourceId"])): each for each in all_of(template, "ApiGateway::Method")}


def handler_of(template: Template, method: dict[str, Any]) -> str:
    (function,) = (logical_id(part) for part in method["Integration"]["Uri"]["Fn::Join"][1] if "Fn::GetAtt" in part)
    handler: str = template["Resources"][function]["Properties"]["Handler"]
    return handler.split(".")[-2]


@pytest.mark.parametrize(("name", "generate"), [("gpt2", "generate"), ("async", "generate_by_job")])
def test_streams_and_held_polls_have_functions_of_their_own(
    templates: dict[str, Template], name: str, generate: str
) -> None:
    template = templates[name]
    assert {route: handler_of(template, method) for route, method in routes(template).items()} == {
        ("POST", "/generate"): generate,
        ("GET", "/jobs/{id}"): "poll_job",
        ("GET", "/endpoint"): "route",
        ("POST", "/jobs"): "route",
        ("GET", "/jobs"): "route",
        ("DELETE", "/jobs/{id}"): "route",
    }


@pytest.mark.parametrize("name", ["gpt2", "async", "qwen3-4b", "gpt2-ec2", "jobs-off"])
def test_the_function_of_the_short_routes_knows_each_of_its_routes(templates: dict[str, Template], name: str) -> None:
    variables = functions(templates[name])["route"]["Environment"]["Variables"]
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in variables.items():
            patch.setenv(variable, value if isinstance(value, str) else "any")
        settings.cache_clear()
        for (method, path), each in routes(templates[name]).items():
            if handler_of(templates[name], each) == "route":
                module = route.module_of({"httpMethod": method, "resource": path})
                assert callable(import_module(module).handler)
    settings.cache_clear()


@pytest.mark.parametrize("name", ["qwen3-4b", "with-api-key", "playground", "gpt2-ec2"])
def test_one_permission_lets_the_api_call_a_function(templates: dict[str, Template], name: str) -> None:
    template = templates[name]
    callers = [
        logical_id(each["FunctionName"])
        for each in all_of(template, "Lambda::Permission")
        if each["Principal"] == "apigateway.amazonaws.com"
    ]
    called = {
        logical_id(part)
        for method in all_of(template, "ApiGateway::Method")
        if method["Integration"]["Type"] != "MOCK"  # API Gateway itself answers
        for part in method["Integration"]["Uri"]["Fn::Join"][1]
        if "Fn::GetAtt" in part
    }
    authorizers = {each for each in callers if "Authorize" in each}
    assert len(callers) == len(set(callers))
    assert set(callers) == called | authorizers
    assert authorizers or not all_of(template, "ApiGateway::Authorizer")


def test_a_template_with_jobs_off_holds_nothing_of_jobs(templates: dict[str, Template]) -> None:
    template = templates["jobs-off"]
    assert [kind for kind in JOB_TYPES if resources(template, kind)] == []
    assert set(routes(template)) == {("POST", "/generate"), ("GET", "/endpoint")}
    without_its_name = json.dumps(template["Resources"]).replace("jobsoff", "")
    assert "job" not in without_its_name.lower()
    assert not any("Job" in output for output in template["Outputs"])


@pytest.mark.parametrize(("name", "seconds"), [("gpt2", 60), ("async", 300), ("qwen3-4b-async", 900)])
def test_functions_get_the_job_settings_of_the_deployment(
    templates: dict[str, Template], name: str, seconds: int
) -> None:
    template = templates[name]
    for function in functions(template).values():
        variables = function["Environment"]["Variables"]
        assert json.loads(variables["JOB_SETTINGS"])["invocation_timeout_in_seconds"] == seconds
        assert variables["DEPLOYMENT_NAME"] == {"Ref": "AWS::StackName"}
        assert (variables["JOB_QUEUE_URL"] == "") == ("async" in name)


def test_limits_are_in_seconds_and_tokens(templates: dict[str, Template]) -> None:
    variables = functions(templates["small-limits"])["route"]["Environment"]["Variables"]
    assert json.loads(variables["JOB_SETTINGS"]) == {
        "retention_in_seconds": 3600,
        "deadline_in_seconds": 420,
        "invocation_timeout_in_seconds": 60,
        "max_waiting": 2,
        "open_jobs": 3,
        "answer_tokens_per_day": 100,
    }


def test_each_function_has_its_timeout(templates: dict[str, Template]) -> None:
    timeouts = {
        handler: function["Timeout"]
        for name in ("gpt2", "async")
        for handler, function in functions(templates[name]).items()
    }
    assert timeouts == {
        "generate": 860,
        "generate_by_job": 860,
        "route": 28,
        "poll_job": 28,
        "run_job": 90,
        "record_result": 30,
        "every_minute": 60,
    }


@pytest.mark.parametrize(
    ("name", "workers"),
    [
        # The instance takes eight requests; but a new account runs ten functions at once, most of them for callers.
        ("gpt2", 4),
        ("scaled", 4),
        ("small-limits", 2),  # as the deployment says
    ],
)
def test_workers_flood_neither_the_endpoint_nor_the_account(
    templates: dict[str, Template], name: str, workers: int
) -> None:
    template = templates[name]
    source = properties(template, "Lambda::EventSourceMapping")
    assert referred(template, source["FunctionName"])["Handler"] == "inference_api.handlers.run_job.handler"
    assert source["ScalingConfig"] == {"MaximumConcurrency": workers}
    assert source["BatchSize"] == 1
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_results_are_recorded_ten_at_a_time(templates: dict[str, Template]) -> None:
    template = templates["async"]
    source = properties(template, "Lambda::EventSourceMapping")
    assert referred(template, source["FunctionName"])["Handler"] == "inference_api.handlers.record_result.handler"
    assert source["BatchSize"] == 10
    assert source["ScalingConfig"] == {"MaximumConcurrency": 4}
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


@pytest.mark.parametrize(("name", "hidden"), [("gpt2", 540), ("async", 180)])
def test_a_message_is_tried_ten_times_and_then_kept_for_two_weeks(
    templates: dict[str, Template], name: str, hidden: int
) -> None:
    template = templates[name]
    queue = referred(template, properties(template, "Lambda::EventSourceMapping")["EventSourceArn"])
    assert queue["VisibilityTimeout"] == hidden
    assert queue["RedrivePolicy"]["maxReceiveCount"] == 10
    dead_letters = referred(template, queue["RedrivePolicy"]["deadLetterTargetArn"])
    for each in (queue, dead_letters):
        assert each["MessageRetentionPeriod"] == 14 * 24 * 3600
        assert each["SqsManagedSseEnabled"] is True


@pytest.mark.parametrize("name", ["gpt2", "async"])
def test_queues_take_tls_only(templates: dict[str, Template], name: str) -> None:
    template = templates[name]
    denied = {
        logical_id(statement["Resource"])
        for policy in all_of(template, "SQS::QueuePolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }
    queues = {name for name, each in template["Resources"].items() if each["Type"] == "AWS::SQS::Queue"}
    assert len(queues) > 1
    assert denied == queues


@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        ("gpt2", ["sweep_jobs"]),
        ("qwen3-4b", ["sweep_jobs", "advance_batches"]),
        ("gpt2-ec2", ["sweep_jobs", "tend_machines", "advance_batches"]),
    ],
)
def test_each_scheduled_function_is_called_each_minute_without_retries(
    templates: dict[str, Template], name: str, tasks: list[str]
) -> None:
    template = templates[name]
    (rule,) = (each for each in all_of(template, "Events::Rule") if "ScheduleExpression" in each)
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 minute)", "ENABLED")
    assert [json.loads(target["Input"]) for target in rule["Targets"]] == [{"task": task} for task in tasks]
    assert set(tasks) <= set(every_minute.MODULES)
    for target in rule["Targets"]:
        assert referred(template, target["Arn"])["Handler"] == "inference_api.handlers.every_minute.handler"
        assert target["RetryPolicy"] == {"MaximumRetryAttempts": 0}
    calls = properties(template, "Lambda::EventInvokeConfig")
    assert calls["FunctionName"] == {"Ref": logical_id(rule["Targets"][0]["Arn"])}
    assert (calls["MaximumRetryAttempts"], calls["MaximumEventAgeInSeconds"]) == (0, 60)


COMMON_ALARMS = {
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", 0),
    ("Slipway", "JobsEndedBySweeper", "Sum", 0),
    ("AWS/Lambda", "Errors", "Sum", 3),
}


@pytest.mark.parametrize(
    ("name", "of_its_own"),
    [
        (
            "gpt2",
            {("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", 1800), ("Slipway", "JobFailed", "Average", 0.1)},
        ),
        (
            "async",
            {
                ("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", 300),
                ("AWS/SageMaker", "ApproximateAgeOfOldestRequest", "Maximum", 900),
                ("Slipway", "JobFailed", "Average", 0.1),
            },
        ),
        (
            "with-api-key",
            {
                ("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", 600),
                ("Slipway", "JobFailed", "Average", 0.3),
                ("Slipway", "BatchesStuck", "Sum", 0),
            },
        ),
    ],
)
def test_jobs_have_alarms_with_the_thresholds_of_the_deployment(
    templates: dict[str, Template], name: str, of_its_own: set[tuple[str, str, str, float]]
) -> None:
    alarms = {
        (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"], alarm["Threshold"])
        for logical_name, resource in templates[name]["Resources"].items()
        if resource["Type"] == "AWS::CloudWatch::Alarm" and logical_name.startswith("Jobs")
        for alarm in [resource["Properties"]]
    }
    assert alarms == COMMON_ALARMS | of_its_own


def test_alarms_on_dead_letters_watch_the_queue_that_holds_them(templates: dict[str, Template]) -> None:
    for name in ("gpt2", "async"):
        template = templates[name]
        watched = {
            alarm["MetricName"]: referred(template, alarm["Dimensions"][0]["Value"])
            for alarm in all_of(template, "CloudWatch::Alarm")
            if alarm.get("Namespace") == "AWS/SQS"
        }
        assert "RedrivePolicy" not in watched["ApproximateNumberOfMessagesVisible"]
        assert "RedrivePolicy" in watched["ApproximateAgeOfOldestMessage"]


@pytest.mark.parametrize("name", ["scaled", "async"])
def test_every_alarm_notifies_the_topic_but_those_that_roll_back_scale_or_are_signs(
    templates: dict[str, Template], name: str
) -> None:
    told = {
        logical_name: resource["Properties"].get("AlarmActions")
        for logical_name, resource in templates[name]["Resources"].items()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
        and not logical_name.startswith(("EndpointRollbackAlarms", "EndpointScaling", "OutageSigns"))
    }
    assert len(told) > 10
    assert {logical_name: actions for logical_name, actions in told.items() if actions != [TOPIC]} == {}


def test_lambda_does_not_stop_the_workers_loop_through_its_queue(templates: dict[str, Template]) -> None:
    looping = [each["Handler"] for each in functions(templates["gpt2"]).values() if "RecursiveLoop" in each]
    assert looping == ["inference_api.handlers.run_job.handler"]
