"""The operator's verbs: bodies, causes in words, lines that tell, decisions of `verify`, wrong use of the command."""

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from llm_hosting.installed_version import installed_version
from llm_hosting.stack_label import StackLabel
from slipway.__main__ import main
from slipway.operations import list_deployments
from slipway.operations.call import CallOptions, show_job
from slipway.operations.last_failure import cause_of, last_failure
from slipway.operations.status import show
from slipway.operations.verify import checks_of
from slipway.reports import places
from slipway.stack.api import ApiAnswer
from slipway.stack.container_log import telling
from slipway.stack.deployed_stack import DeployedStack, asking_aws
from slipway.stack.prompt import request_body, text_of
from support.stand_ins.described_stacks import described_stack
from support.stand_ins.ec2 import StandInEc2


def refusal(operation: str, code: str) -> ClientError:
    return ClientError({"Error": {"Code": code}}, operation)


class Aws:
    """One account as far as the verbs ask: every service but EC2 is this object itself, every page the only one."""

    def __init__(self, *, status: str = "CREATE_COMPLETE", endpoint: dict[str, Any] | None = None, **ids: list[str]):
        self.status, self.ids = status, ids
        self.endpoint = {"EndpointConfigName": "Config-1A", "EndpointStatus": "InService"} | (endpoint or {})
        self.events: list[dict[str, Any]] = []
        self.parameters: dict[str, str] = {}
        self.description = ""  # of each alarm
        self.label: dict[str, Any] | None = StackLabel("gpt2", "realtime").as_metadata()
        self.outputs = {"ApiUrl": "https://a1b2.execute-api.eu-west-1.amazonaws.com/v1/"}
        self.meta = SimpleNamespace(endpoint_url="https://apigateway.eu-west-1.amazonaws.com", region_name="eu-west-1")

    def get_caller_identity(self) -> Any:
        return {"Account": "111122223333", "Arn": "arn:aws:iam::111122223333:user/me"}

    def describe_stacks(self) -> Any:
        return {"Stacks": [self.stack.described]}

    @property
    def stack(self) -> DeployedStack:
        described = described_stack(self.status, "gpt2 on tgi", parameters=self.parameters, outputs=self.outputs)
        return DeployedStack(described, lambda service: StandInEc2() if service == "ec2" else self)

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **request: [getattr(self, operation)(**request)])

    def get_template_summary(self, StackName: str) -> Any:
        if self.label is None:
            raise refusal("GetTemplateSummary", "ValidationError")
        return {"Metadata": json.dumps(self.label)} if self.label else {}

    def list_stack_resources(self, StackName: str) -> Any:
        kinds = {
            "configs": "AWS::SageMaker::EndpointConfig",
            "alarms": "AWS::CloudWatch::Alarm",
            "groups": "AWS::Logs::LogGroup",
        }
        return {
            "StackResourceSummaries": [
                {"ResourceType": kinds[kind], "ResourceStatus": "CREATE_COMPLETE", "PhysicalResourceId": each}
                for kind, ids in self.ids.items()
                for each in ids
            ]
        }

    def describe_endpoint(self, EndpointName: str) -> Any:
        assert EndpointName == "chat-1a2b3c4d"
        if not self.endpoint:
            raise ClientError({"Error": {"Code": "ValidationException", "Message": "Could not find endpoint"}}, "?")
        return self.endpoint

    def describe_alarms(self, AlarmNames: list[str], AlarmTypes: list[str], StateValue: str) -> Any:
        assert len(AlarmNames) <= 100
        assert set(AlarmTypes) == {"CompositeAlarm", "MetricAlarm"}, "composite alarms are left out by default"
        on = [
            {"AlarmName": name, "AlarmDescription": self.description} for name in AlarmNames if name.startswith("loud")
        ]
        return {"MetricAlarms": on, "CompositeAlarms": []}

    def describe_stack_events(self, StackName: str) -> Any:
        return {"StackEvents": self.events}

    def describe_log_streams(self, **request: Any) -> Any:
        return {"logStreams": []}

    def list_endpoints(self, NameContains: str) -> Any:
        names = ("chat-1a2b3c4d", "chat-99887766", "chat-cpu-99887766", "chatter-99887766")
        return {"Endpoints": [{"EndpointName": name} for name in names]}

    def get_resources(self, TagFilters: Any) -> Any:
        groups = ("chat-1a2b3c4d", "chat-99887766")
        arn = "arn:aws:logs:eu-west-1:111122223333:log-group:/aws/sagemaker/Endpoints"
        return {"ResourceTagMappingList": [{"ResourceARN": f"{arn}/{name}"} for name in groups]}

    def get_queue_url(self, QueueName: str) -> Any:
        raise refusal("GetQueueUrl", "AWS.SimpleQueueService.NonExistentQueue")

    def scan(self, **request: Any) -> Any:
        raise refusal("Scan", "ResourceNotFoundException")

    def describe_log_groups(self, logGroupNamePrefix: str) -> Any:
        return {"logGroups": [{"logGroupName": logGroupNamePrefix, "storedBytes": 5}]}


def looked(aws: Aws) -> dict[str, tuple[bool, str]]:
    """Each check without a call of the model, by its name."""
    if aws.status == "CREATE_COMPLETE":
        aws.status = "UPDATE_IN_PROGRESS"  # or the model would be called
    return {check.name: (check.good, check.seen) for check in checks_of(aws.stack, timeout=1)}


@pytest.mark.parametrize(
    ("config", "good"),
    [
        ("arn:aws:sagemaker:eu-west-1:111122223333:endpoint-config/config-1a", True),
        ("Config-1A", True),
        ("arn:aws:sagemaker:eu-west-1:111122223333:endpoint-config/config-2b", False),
    ],
)
def test_the_configuration_is_compared_by_its_name_in_any_case(config: str, good: bool) -> None:
    assert looked(Aws(configs=[config]))["configuration"][0] == good


@pytest.mark.parametrize(
    ("endpoint", "good"),
    [
        ({"EndpointStatus": "InService"}, True),
        ({"EndpointStatus": "InService", "FailureReason": "The update was rolled back."}, False),
        ({"EndpointStatus": "Updating"}, False),
        ({"EndpointStatus": "Failed", "FailureReason": "No capacity."}, False),
    ],
)
def test_an_endpoint_in_service_with_a_failure_has_gone_back(endpoint: dict[str, Any], good: bool) -> None:
    found, seen = looked(Aws(endpoint=endpoint))["endpoint"]
    assert found == good
    assert endpoint.get("FailureReason", "") in seen


@pytest.mark.parametrize(
    ("current", "desired", "good"), [(1, 1, True), (0, 0, True), (0, 1, False), (2, 1, False)], ids=str
)
def test_as_many_instances_run_as_are_wanted(current: int, desired: int, good: bool) -> None:
    variant = {"VariantName": "AllTraffic", "CurrentInstanceCount": current, "DesiredInstanceCount": desired}
    found, seen = looked(Aws(endpoint={"ProductionVariants": [variant]}))["instances"]
    assert (found, seen.startswith(f"{current} of {desired}")) == (good, True)
    assert ("no instance has run this configuration yet" in seen) == (desired == 0)


def test_a_stack_of_a_newer_version_with_an_unknown_mode_is_told_in_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    aws = Aws()
    aws.label = StackLabel("gpt2", "elsewhere", "9.8.7").as_metadata()
    assert asking_aws(lambda: show(aws.stack, as_json=False)) == 2
    assert capsys.readouterr().err == (
        "chat: Slipway 9.8.7 made the stack with hosting.mode 'elsewhere', which "
        f"{installed_version()} does not know; install 9.8.7 or newer.\n"
    )


@pytest.mark.parametrize("label", [None, {}, {"AWS::CloudFormation::Interface": {}}, {"Slipway": {"model": "gpt2"}}])
def test_a_stack_that_does_not_tell_its_mode_is_named_and_never_guessed(
    label: dict[str, Any] | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = Aws()
    aws.label = label
    sentence = (
        "chat: the stack's template does not tell its model and hosting mode (Metadata.Slipway); deploy it again."
    )
    assert asking_aws(lambda: show(aws.stack, as_json=False)) == 2
    assert capsys.readouterr().err == f"{sentence}\n"
    for module in (list_deployments, places):
        monkeypatch.setattr(module, "clients_in", lambda *_: lambda service: aws)
    assert list_deployments.run((), (), None, as_json=False) == 0
    told = capsys.readouterr()
    assert told.err == f"{sentence}\n"
    assert told.out.splitlines()[1].split() == ["chat", "CREATE_COMPLETE", "gpt2", "on", "tgi", *"-----"]


def test_the_alarm_on_idle_instances_is_no_problem_of_a_deployment() -> None:
    aws = Aws(alarms=["loud-idle", "quiet"])
    aws.outputs["IdleAlarm"] = "loud-idle"
    assert looked(aws)["alarms"] == (True, "2, none has gone off")
    aws.outputs["IdleAlarm"] = "quiet"
    assert looked(aws)["alarms"] == (False, "loud-idle went off")


def test_alarms_are_asked_for_a_hundred_at_a_time() -> None:
    quiet = [f"quiet-{number}" for number in range(150)]
    assert looked(Aws(alarms=quiet))["alarms"] == (True, "150, none has gone off")
    assert looked(Aws(alarms=[*quiet, "loud-1"]))["alarms"] == (False, "loud-1 went off")


def test_an_alarm_that_went_off_leads_to_its_paragraph(capsys: pytest.CaptureFixture[str]) -> None:
    aws = Aws(alarms=["loud-1"])
    aws.description = "The oldest job waited more than 60 s. What to do: docs/runbook.md#waiting"
    check = next(each for each in checks_of(aws.stack, timeout=0) if each.name == "alarms")
    assert check.fix == "docs/runbook.md#waiting"
    show(aws.stack, as_json=False)
    assert (
        "alarms      loud-1 went off: The oldest job waited more than 60 s\n            -> docs/runbook.md#waiting\n"
        in capsys.readouterr().out
    )
    show(aws.stack, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["alarms_on"] == ["loud-1"]
    assert found["alarms"] == [
        {"name": "loud-1", "meaning": "The oldest job waited more than 60 s", "runbook": "docs/runbook.md#waiting"}
    ]


def test_an_alarm_of_an_older_release_has_no_paragraph(capsys: pytest.CaptureFixture[str]) -> None:
    aws = Aws(alarms=["loud-1"])
    check = next(each for each in checks_of(aws.stack, timeout=0) if each.name == "alarms")
    assert check.fix == "aws cloudwatch describe-alarm-history --alarm-name <one of them>"
    show(aws.stack, as_json=False)
    assert "alarms      loud-1 went off\n" in capsys.readouterr().out


def test_only_endpoints_of_the_same_name_count_as_left() -> None:
    assert looked(Aws())["still billing"] == (False, "chat-99887766 of an earlier stack")


def test_what_earlier_stacks_left_is_named_and_fails_nothing() -> None:
    left = looked(Aws(groups=["/aws/sagemaker/Endpoints/chat-1a2b3c4d"]))["left over"]
    names = "log group /aws/sagemaker/Endpoints/chat-99887766"
    assert left == (True, f"1 that bill for storage at most: {names}")


@pytest.mark.parametrize("status", ["UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE", "ROLLBACK_FAILED"])
def test_the_model_is_not_called_unless_the_stack_is_complete(status: str) -> None:
    checks = looked(Aws(status=status))
    assert not checks["stack"][0]
    assert not [name for name in checks if name.startswith("POST")]


def test_a_stack_without_an_endpoint_on_purpose_is_good_and_not_called(capsys: pytest.CaptureFixture[str]) -> None:
    aws = Aws()
    aws.endpoint, aws.parameters = {}, {"DeployEndpoint": "false"}
    none = "none, as the stack's parameter DeployEndpoint is false"
    checks = {check.name: (check.good, check.seen) for check in checks_of(aws.stack, timeout=1)}
    assert checks["endpoint"] == (True, none)
    assert not [name for name in checks if name.startswith("POST")]
    show(aws.stack, as_json=False)
    assert f"endpoint    {none}" in capsys.readouterr().out.splitlines()
    aws.parameters = {"DeployEndpoint": "true"}
    assert looked(aws)["endpoint"] == (False, "there is no endpoint chat-1a2b3c4d")


def test_the_status_of_a_stack_without_its_queue_and_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """A failed destroy leaves this state."""
    aws = Aws(status="DELETE_FAILED")
    aws.outputs |= {"JobQueue": "queue", "JobDeadLetters": "letters", "JobTable": "table"}
    assert show(aws.stack, as_json=False) == 0
    page = capsys.readouterr().out.splitlines()
    assert "queue       gone" in page
    assert "jobs        the table is gone" in page
    show(aws.stack, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["queue"], found["open_jobs"]) == ("gone", "gone")


def test_the_reason_of_a_rollback_is_the_first_of_the_last_operation() -> None:
    aws = Aws(status="UPDATE_ROLLBACK_COMPLETE")

    def event(name: str, status: str, reason: str = "") -> dict[str, Any]:
        kind = "AWS::CloudFormation::Stack" if name == "chat" else "AWS::Lambda::Function"
        what = {"LogicalResourceId": name, "ResourceType": kind}
        return what | {"ResourceStatus": status, "ResourceStatusReason": reason}

    aws.events = [  # the newest first
        event("chat", "UPDATE_ROLLBACK_COMPLETE"),
        event("Other", "UPDATE_FAILED", "Resource update cancelled"),
        event("Endpoint", "UPDATE_FAILED", "InsufficientInstanceCapacity: none left"),
        event("chat", "UPDATE_IN_PROGRESS", "User Initiated"),
        event("Endpoint", "CREATE_FAILED", "of an earlier operation"),
    ]
    failure = last_failure(aws.stack)
    assert failure
    assert failure.reason == "Endpoint (AWS::Lambda::Function): InsufficientInstanceCapacity: none left"
    assert failure.cause.startswith("AWS has no free instance of the type")


@pytest.mark.parametrize(
    ("reason", "lines", "cause"),
    [
        ("... did not pass the ping health check ...", ["torch.OutOfMemoryError: CUDA out of memory"], "do not fit"),
        ("... did not pass the ping health check ...", ["GatedRepoError: 401 Client Error"], "stage chat"),
        ("... did not pass the ping health check ...", ["usage: serve"], "startup_timeout_in_seconds"),
        ("ResourceLimitExceeded: The account-level service limit", [], "doctor chat"),
        ("CloudWatch Logs role ARN must be set in account settings", [], "slipway-account-settings"),
        ("rolled back because the alarm chat-Errors went off", [], "an alarm went off because of the new instances"),
        ("Please ensure that an S3 VPC endpoint exists in route table or NAT gateway", [], "doctor chat"),
        (
            "... did not pass the ping health check ...",
            ["We couldn't connect to 'https://huggingface.co' to load this file"],
            "does not reach the internet: stage the weights",
        ),
        ("Internal failure", [], ""),
    ],
)
def test_a_cause_is_named_in_words(reason: str, lines: list[str], cause: str) -> None:
    found = cause_of("chat", reason, lines)
    assert cause in found
    assert bool(found) == bool(cause)


def test_lines_that_name_a_trouble_are_shown_once_and_else_the_last_ones() -> None:
    noise = [f"loading shard {number}" for number in range(40)]
    assert telling([*noise, "ValueError: max_input\nValueError: max_input", "bye"]) == ["ValueError: max_input"]
    assert telling(noise) == noise[-5:]
    assert telling([]) == []


@pytest.mark.parametrize(
    ("bodies", "more", "body"),
    [
        (["inputs"], {}, {"inputs": "hi"}),
        (["inputs", "messages"], {"max_tokens": 3}, {"inputs": "hi", "parameters": {"max_new_tokens": 3}}),
        (["inputs", "messages"], {"chat": True}, {"messages": [{"role": "user", "content": "hi"}]}),
        (["messages"], {"max_tokens": 3}, {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}),
    ],
)
def test_a_body_has_the_shape_of_the_engine(bodies: list[str], more: dict[str, Any], body: dict[str, Any]) -> None:
    assert request_body("hi", bodies, **({"max_tokens": None} | more)) == body


@pytest.mark.parametrize(
    "answer",
    [
        [{"generated_text": "four"}],
        {"generated_text": "four"},
        {"choices": [{"message": {"role": "assistant", "content": "four"}}]},
        {"choices": [{"text": "four"}]},
        [[{"generated_text": "four"}]],
        "four",
    ],
)
def test_the_text_of_an_answer_is_found_in_any_shape(answer: Any) -> None:
    assert text_of(answer) == "four"


def test_a_large_output_that_cannot_be_fetched_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    job = {"id": "a1", "status": "succeeded", "output_url": "https://bucket/output"}
    assert show_job(job, CallOptions(), lambda url: ApiAnswer(403, "<Error>\nExpired</Error>")) == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "The output of job a1 can't be fetched: 403 <Error> Expired</Error>\n")
    assert show_job(job, CallOptions(), lambda url: ApiAnswer(200, [{"generated_text": f"\n four of {url}"}])) == 0
    assert capsys.readouterr().out == "four of https://bucket/output\n"


def test_a_problem_is_one_line_whoever_answers() -> None:
    ours = ApiAnswer(503, {"error": {"code": "endpoint_not_ready", "message": "Wait."}})
    assert ours.problem == "503 endpoint_not_ready: Wait."
    assert ApiAnswer(502, "<html>" * 100).problem.startswith("502 <html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["status", "no/path.yaml"], "'no/path.yaml' is not a deployment's name"),
        (["status", "deployments/chat/prod"], "'deployments/chat/prod' is not a deployment's name"),
        (["status", "slipway/account-settings"], "'slipway/account-settings' is not a deployment's name"),
        (["logs", "chat", "--since", "tomorrow"], "'tomorrow' is not an age; use 30s, 15m, 2h or 7d"),
        (["call", "chat", "hi", "--max-tokens", "0"], "'0' must be a positive whole number"),
        (["call", "chat", "hi", "--timeout", "0"], "'0' must be 1 to 604800 seconds"),
        (["call", "chat"], "text"),
    ],
)
def test_wrong_use_is_told_before_aws_is_asked(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["slipway", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["/aws/sagemaker/Endpoints", "/slipway/machines"])
def test_a_stack_of_a_set_knows_its_endpoint_by_the_log_group(kind: str) -> None:
    own = "/aws/lambda/StackSet-chat-Generate"
    assert Aws(groups=[own, f"{kind}/other-1a2b3c4d"]).stack.endpoint_name == "other-1a2b3c4d"
    assert Aws(groups=[own]).stack.endpoint_name == "chat-1a2b3c4d"
