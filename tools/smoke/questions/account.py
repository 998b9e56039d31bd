"""What AWS does for the account: the access log, trust in a role, metrics of alarms."""

import json
from typing import Any

from botocore.exceptions import ClientError

from slipway.operations.logs import ACCESS, log_groups
from slipway.stack.api import DeployedApi
from slipway.stack.deployed_stack import DeployedStack
from tools.smoke.asking.question import Answer, Line, Question
from tools.smoke.asking.removal import remove_role
from tools.smoke.asking.stacks import ASYNC, EC2, REALTIME, ZERO, SmokeStack
from tools.smoke.asking.trial import Trial


def access_log(trial: Trial) -> Answer:
    """Call the API, and see whether API Gateway writes its access log, which it does with the account's role."""
    stack = trial.stack()
    DeployedApi(stack).call("GET", "endpoint")
    (group,) = log_groups(stack, ACCESS)
    found = trial.wait(lambda: trial.clients("logs").filter_log_events(logGroupName=group)["events"] or None, 120)
    for event in (found or [])[:2]:
        trial.saw(event["message"])
    return Answer(f"{len(found or [])} lines", bool(found))


def trust_by_source_account(trial: Trial) -> Answer:
    """Create a model whose role trusts SageMaker for this account only; delete both at once."""
    iam, sagemaker = trial.clients("iam"), trial.clients("sagemaker")
    stack, name = trial.stack(), trial.made("trust")
    own = sagemaker.describe_model(ModelName=_model(stack, sagemaker))
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "sagemaker.amazonaws.com"},
        "Action": "sts:AssumeRole",
        "Condition": {"StringEquals": {"aws:SourceAccount": stack.account}},
    }
    trust = {"Version": "2012-10-17", "Statement": [statement]}
    pull = {"Effect": "Allow", "Action": "ecr:*", "Resource": "*"}
    made = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]
    try:
        policy = json.dumps({"Version": "2012-10-17", "Statement": [pull]})
        iam.put_role_policy(RoleName=name, PolicyName="pull", PolicyDocument=policy)
        refusals: list[str] = []

        def create() -> bool | None:
            container = {"Image": own["PrimaryContainer"]["Image"]}
            try:
                sagemaker.create_model(ModelName=name, ExecutionRoleArn=made["Arn"], PrimaryContainer=container)
            except ClientError as error:  # IAM takes some seconds to let a new role be assumed
                refusals.append(str(error))
                return None
            return True

        if not trial.wait(create, 5 if trial.is_local else 120):
            return Answer(f"refused to the end, {len(refusals)} times: {refusals[-1]}")
        sagemaker.delete_model(ModelName=name)
        return Answer("CreateModel succeeds")
    finally:
        remove_role(name, iam)


def _model(stack: DeployedStack, sagemaker: Any) -> str:
    config = sagemaker.describe_endpoint_config(EndpointConfigName=(stack.endpoint or {})["EndpointConfigName"])
    return str(config["ProductionVariants"][0]["ModelName"])


def metrics_of_alarms(trial: Trial) -> Answer:
    """List the alarms whose metric does not exist: such an alarm never goes off."""
    cloudwatch, missing, count = trial.clients("cloudwatch"), set(), 0
    names = trial.stack().resources["AWS::CloudWatch::Alarm"]
    for page in cloudwatch.get_paginator("describe_alarms").paginate(AlarmNames=names[:100]):
        for alarm in page["MetricAlarms"]:
            if "MetricName" in alarm:
                count += 1
                wanted = {key: alarm[key] for key in ("Namespace", "MetricName", "Dimensions")}
                if not cloudwatch.list_metrics(**wanted)["Metrics"]:
                    missing.add(f"{alarm['Namespace']} {alarm['MetricName']}")
    return Answer(f"{len(missing)} of {count}: {', '.join(sorted(missing)) or 'none'}")


def _metrics(stack: SmokeStack) -> Question:
    return Question(
        f"metrics-of-alarms-{stack.name}",
        f"Which metrics of alarms of {stack.name} did not exist by the end? (Some come with a failure only.)",
        "",
        metrics_of_alarms,
        Line("docs/jobs.md", "Alarms", "has a paragraph for each alarm"),
        minutes=0.5,
        stack=stack,
        is_last=True,
    )


QUESTIONS = (
    Question(
        "access-log",
        "Does API Gateway write the access log?",
        "it does",
        access_log,
        Line("docs/operations.md", "logs", "# the API's access log"),
        minutes=1,
        stack=REALTIME,
    ),
    Question(
        "source-account",
        "Does SageMaker send aws:SourceAccount when it assumes an execution role?",
        "",
        trust_by_source_account,
        Line("docs/decisions.md", "Decisions", "The guide needs no `aws:SourceAccount` beside it"),
        minutes=1,
        stack=REALTIME,
        local="it sends what we think that SageMaker sends",
    ),
    *map(_metrics, (REALTIME, ASYNC, ZERO, EC2)),
)
