"""The exact permissions of each function and of the endpoint's role, by action and resource."""

import json
from itertools import chain
from typing import Any

import pytest

from support.templates.house_rules import statements_of
from support.templates.template_parts import Template, functions, logical_id, properties, referred, resources

Grants = dict[str, set[str]]  # resources by action

WORDS = {
    "AWS::DynamoDB::Table": "table",
    "AWS::S3::Bucket": "bucket",
    "AWS::SQS::Queue": "queue",
    "AWS::SNS::Topic": "topic",
    "AWS::CloudWatch::Alarm": "alarm",
}
READ_ROW = {"dynamodb:GetItem": {"table"}}
CHANGE_ROWS: Grants = READ_ROW | {"dynamodb:PutItem": {"table"}, "dynamodb:UpdateItem": {"table"}}
READ_RESULTS: Grants = {"s3:GetObjectVersion": {"bucket/output/*"}}
ANNOUNCE: Grants = {"events:PutEvents": {"event-bus/default"}}
HEAR: Grants = {f"sqs:{action}": {"queue"} for action in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")}
SEND: Grants = {"sqs:SendMessage": {"queue"}}
COLLECT: Grants = CHANGE_ROWS | {
    "s3:GetObject": {"bucket/output/*", "bucket/failure/*"},
    "s3:ListBucket": {"bucket"},  # without it, S3 answers 403 for a missing object
}
DESCRIBE: Grants = {"sagemaker:DescribeEndpoint": {"endpoint"}}
INVOKE: Grants = {"sagemaker:InvokeEndpoint": {"endpoint"}}
STREAM: Grants = INVOKE | {"sagemaker:InvokeEndpointWithResponseStream": {"endpoint"}}
INVOKE_ASYNC: Grants = {"sagemaker:InvokeEndpointAsync": {"endpoint"}}
SUBMIT: Grants = CHANGE_ROWS | READ_RESULTS | DESCRIBE | {"s3:PutObject": {"bucket/input/*"}}
SUBMIT_ASYNC: Grants = SUBMIT | INVOKE_ASYNC | {"s3:GetObject": {"bucket/input/*"}}
SWEEP: Grants = COLLECT | ANNOUNCE | {"dynamodb:Query": {"table/index/by_due"}}
COUNT: Grants = {"sqs:GetQueueAttributes": {"queue"}}
START: Grants = {"ec2:StartInstances": {"instance/*"}}
POLL: Grants = READ_ROW | READ_RESULTS | {"dynamodb:UpdateItem": {"table"}}
LIST: Grants = {"dynamodb:Query": {"table/index/by_owner"}, "dynamodb:BatchGetItem": {"table"}}
SUBMIT_TO_MACHINES: Grants = CHANGE_ROWS | READ_RESULTS | {"s3:PutObject": {"bucket/input/*"}} | SEND | START


def both(*parts: Grants) -> Grants:
    """Return everything that any of these grants allows."""
    return {action: set().union(*(part.get(action, set()) for part in parts)) for action in chain(*parts)}


# The routes of the function `route`: submit, list, cancel and, with OpenAI's routes, files and batches.
SHORT: Grants = both(SUBMIT, LIST, ANNOUNCE)
FILES: Grants = {"s3:PutObject": {"bucket/file/*"}, "s3:GetObjectVersion": {"bucket/file/*"}}
ADVANCE: Grants = both(
    CHANGE_ROWS,
    ANNOUNCE,
    {
        "dynamodb:Query": {"table/index/by_due"},
        "dynamodb:BatchGetItem": {"table"},
        "s3:PutObject": {"bucket/input/*", "bucket/file/*", "bucket/batch/*"},
        "s3:GetObject": {"bucket/output/*", "bucket/file/*", "bucket/batch/*"},
        "s3:GetObjectVersion": {"bucket/output/*", "bucket/file/*"},
        "s3:ListMultipartUploadParts": {"bucket/file/*"},
        "s3:ListBucket": {"bucket"},
    },
)
REALTIME: dict[str, Grants] = {
    "generate": STREAM | SUBMIT | SEND,  # TGI streams; while the endpoint is not ready, a job answers
    "poll_job": POLL,
    "route": both(SHORT, SEND),
    "run_job": CHANGE_ROWS
    | ANNOUNCE
    | HEAR
    | SEND
    | INVOKE
    | DESCRIBE
    | {
        "sqs:ChangeMessageVisibility": {"queue"},
        "s3:GetObject": {"bucket/input/*"},
        "s3:PutObject": {"bucket/output/*"},
    },
    "every_minute": both(SWEEP, SEND, COUNT),
}
FOR_OPENAI: dict[str, Grants] = REALTIME | {
    "route": both(REALTIME["route"], FILES),
    "every_minute": both(REALTIME["every_minute"], ADVANCE, DESCRIBE),
}
ASYNC: dict[str, Grants] = {
    "generate_by_job": SUBMIT_ASYNC,
    "poll_job": POLL,
    "route": both(SHORT, SUBMIT_ASYNC),
    "record_result": COLLECT | ANNOUNCE | HEAR | DESCRIBE,
    "every_minute": both(SWEEP, INVOKE_ASYNC, {"s3:GetObject": {"bucket/input/*"}}),
}
TEND: Grants = both(CHANGE_ROWS, START, COUNT) | {
    "ec2:DescribeInstances": {"*"},
    "ec2:StopInstances": {"instance/*"},
    "dynamodb:Query": {"table/index/by_due"},
}
EC2: dict[str, Grants] = {
    "generate_by_job": SUBMIT_TO_MACHINES,
    "poll_job": POLL,
    "route": both(SUBMIT_TO_MACHINES, LIST, ANNOUNCE, FILES),
    "every_minute": both(SWEEP, SEND, COUNT, ADVANCE, START, TEND),
}
MACHINE: Grants = (
    CHANGE_ROWS
    | ANNOUNCE
    | SEND
    | {f"sqs:{action}": {"queue"} for action in ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility")}
    | {"s3:PutObject": {"bucket/output/*"}, "ssm:UpdateInstanceInformation": {"*"}}
    | {f"ssmmessages:{verb}{end}Channel": {"*"} for verb in ("Create", "Open") for end in ("Control", "Data")}
)
WITHOUT_JOBS: dict[str, Grants] = {"generate": STREAM | DESCRIBE, "route": DESCRIBE}


def place(template: Template, resource: Any) -> str:
    """Return a short form of a statement's resource, such as `bucket/input/*`."""
    if "Fn::GetAtt" in resource or "Ref" in resource:
        kind = template["Resources"][logical_id(resource)]["Type"]
        is_end = kind == "AWS::SQS::Queue" and "RedrivePolicy" not in referred(template, resource)
        return "dead letters" if is_end else WORDS[kind]
    if "Fn::Join" not in resource:
        return str(resource)
    first, *rest = resource["Fn::Join"][1]
    if isinstance(first, dict):
        return place(template, first) + "".join(rest)
    text = json.dumps(resource)
    return "endpoint" if ':endpoint/"' in text else text.rpartition(":")[2].removesuffix('"]]}')


def grants(template: Template, role: str) -> tuple[Grants, set[str]]:
    """Return a role's permissions without those on log groups, and the log groups to which it may write."""
    found: Grants = {}
    log_groups = set()
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::IAM::Policy" or {"Ref": role} not in resource["Properties"]["Roles"]:
            continue
        for statement in statements_of(resource):
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            targets = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
            assert statement["Effect"] == "Allow"
            if all(action.startswith("logs:") for action in actions):
                log_groups |= {logical_id(target) for target in targets}
                continue
            for action in actions:
                found.setdefault(action, set()).update(place(template, target) for target in targets)
    return found, log_groups


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt2", REALTIME),
        ("qwen3-4b", FOR_OPENAI),
        ("async", ASYNC),
        ("gpt2-ec2", EC2),
        ("jobs-off", WITHOUT_JOBS),
    ],
)
def test_each_function_has_exactly_the_permissions_of_its_handlers(
    templates: dict[str, Template], name: str, expected: dict[str, Grants]
) -> None:
    found_functions = functions(templates[name])
    assert set(found_functions) == set(expected)
    for handler, each in found_functions.items():
        role = logical_id(each["Role"])
        found, log_groups = grants(templates[name], role)
        assert found == expected[handler], handler
        assert log_groups == {logical_id(each["LoggingConfig"]["LogGroup"])}


def test_every_function_has_a_role_of_its_own(templates: dict[str, Template]) -> None:
    for template in templates.values():
        roles = [logical_id(each["Role"]) for each in functions(template).values()]
        assert len(set(roles)) == len(roles)


def test_an_asynchronous_endpoint_may_read_inputs_write_results_and_announce_them(
    templates: dict[str, Template],
) -> None:
    template = templates["async"]
    found, _ = grants(template, logical_id(properties(template, "SageMaker::Model")["ExecutionRoleArn"]))
    results = {"bucket/output/*", "bucket/failure/*"}
    jobs = {action: places for action, places in found.items() if action.startswith(("s3:", "sns:"))}
    assert jobs == {
        "s3:GetObject": {"bucket/input/*"},
        "s3:PutObject": results,
        "s3:AbortMultipartUpload": results,
        "sns:Publish": {"topic"},
    }


def test_a_real_time_endpoint_sees_nothing_of_jobs(templates: dict[str, Template]) -> None:
    template = templates["gpt2"]
    found, _ = grants(template, logical_id(properties(template, "SageMaker::Model")["ExecutionRoleArn"]))
    assert not any(action.startswith(("s3:", "sns:", "dynamodb:", "sqs:")) for action in found)


def test_a_machine_may_do_what_its_worker_needs_and_accepts_sessions(templates: dict[str, Template]) -> None:
    template = templates["gpt2-ec2"]
    found, log_groups = grants(template, properties(template, "IAM::InstanceProfile")["Roles"][0]["Ref"])
    objects = found.pop("s3:GetObject")
    assert found == MACHINE
    assert {each for each in objects if not each.endswith(".zip")} == {"bucket/input/*"}
    assert len(objects) == 2, "the code, by the hash of its content"
    assert log_groups == {template["Outputs"]["MachineLogGroup"]["Value"]["Ref"]}


def test_events_are_put_in_slipways_name_only(templates: dict[str, Template]) -> None:
    kinds: dict[str, set[str]] = {}
    for name, template in templates.items():
        for policy in resources(template, "IAM::Policy"):
            for statement in statements_of(policy):
                if "events:PutEvents" in statement["Action"]:
                    condition = statement["Condition"]["StringEquals"]
                    assert condition["events:source"] == "slipway"
                    kinds.setdefault(name, set()).add(condition["events:detail-type"])
    assert kinds["gpt2"] == {"Job Ended"}
    assert kinds["qwen3-4b"] == {"Job Ended", "Batch Waits"}


def test_an_endpoint_may_send_metrics_by_otlp_without_a_namespace(templates: dict[str, Template]) -> None:
    (statement,) = (
        each
        for policy in resources(templates["qwen3-4b"], "IAM::Policy")
        for each in statements_of(policy)
        if each["Action"] == "cloudwatch:PutMetricData"
    )
    namespaces = ["AWS/SageMaker", "/aws/sagemaker/Endpoints"]
    assert statement["Condition"] == {"StringEqualsIfExists": {"cloudwatch:namespace": namespaces}}
