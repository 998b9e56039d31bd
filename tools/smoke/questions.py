"""Questions that only AWS can answer, asked of the running deployments."""

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from slipway.hosting.component import is_changing
from slipway.hosting.endpoint import configuration
from slipway.hosting.hosting import hosting_of
from slipway.operations.last_failure import last_failure
from slipway.operations.logs import ACCESS, log_groups
from slipway.stack.api import DeployedApi
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError
from slipway.stack.prompt import request_body
from tools.smoke.report import AwsAnswer
from tools.smoke.trial import ASYNC, NAMES, REALTIME, ZERO, Trial

_WAIT_IN_SECONDS = 1800
Question = Callable[[Trial], AwsAnswer]


@contextmanager
def calling_while_it_starts(trial: Trial) -> Iterator[Callable[[], AwsAnswer]]:
    """Call POST /generate from the moment that the API exists until the block ends."""
    statuses: Counter[str] = Counter()
    over = threading.Event()

    def call() -> None:
        while not over.wait(trial.look_interval):
            try:
                stack = trial.stack(REALTIME)
                apis = stack.resources.get("AWS::ApiGateway::Stage") and stack.resources["AWS::ApiGateway::RestApi"]
                if not apis or stack.status != "CREATE_IN_PROGRESS":
                    continue
                place = f"https://{apis[0]}.execute-api.{stack.region}.amazonaws.com"
                if stack.local_cloud:
                    place = f"{stack.local_cloud}/_aws/execute-api/{apis[0]}"
                outputs = [{"OutputKey": "ApiUrl", "OutputValue": f"{place}/v1/"}]
                starting = DeployedStack(stack.described | {"Outputs": outputs}, trial.clients)
                answer = DeployedApi(starting).call("POST", "generate", request_body("hi", ["inputs"], max_tokens=2))
                error = answer.content.get("error", {}) if isinstance(answer.content, dict) else {}
                statuses[f"{answer.status} {error.get('code', '')}".strip()] += 1
            except UnknownStackError:  # the stack does not exist yet
                continue
            except (BotoCoreError, ClientError) as error:
                statuses[type(error).__name__] += 1

    def answer() -> AwsAnswer:
        seen = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
        return AwsAnswer(
            "What does POST /generate answer while the endpoint is created?",
            "503 endpoint_not_ready, or 403 until the stage is there",
            seen or "there was no API before the endpoint was in service",
            all(status.startswith(("503 endpoint_not_ready", "403", "200")) for status in statuses),
        )

    caller = threading.Thread(target=call)
    caller.start()
    try:
        yield answer
    finally:
        over.set()
        caller.join()


def trust_by_source_account(trial: Trial) -> AwsAnswer:
    """Create a model whose role trusts SageMaker for this account only; delete both at once."""
    iam, sagemaker = trial.clients("iam"), trial.clients("sagemaker")
    stack, name = trial.stack(REALTIME), f"slipway-smoke-{uuid.uuid4().hex[:8]}"
    own = sagemaker.describe_model(ModelName=_model(stack, sagemaker))
    role = iam.get_role(RoleName=own["ExecutionRoleArn"].rpartition("/")[2])["Role"]
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "sagemaker.amazonaws.com"},
        "Action": "sts:AssumeRole",
        "Condition": {"StringEquals": {"aws:SourceAccount": stack.account}},
    }
    trust = {"Version": "2012-10-17", "Statement": [statement]}
    pull = {"Effect": "Allow", "Action": "ecr:*", "Resource": "*"}
    made = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]
    policy = json.dumps({"Version": "2012-10-17", "Statement": [pull]})
    iam.put_role_policy(RoleName=name, PolicyName="pull", PolicyDocument=policy)
    try:
        refusals: list[str] = []

        def create() -> bool | None:
            container = {"Image": own["PrimaryContainer"]["Image"]}
            try:
                sagemaker.create_model(ModelName=name, ExecutionRoleArn=made["Arn"], PrimaryContainer=container)
            except ClientError as error:  # IAM takes some seconds to let a new role be assumed
                refusals.append(str(error))
                return None
            return True

        if trial.wait(create, 60):
            sagemaker.delete_model(ModelName=name)
            seen = "CreateModel succeeds"
        else:
            seen = f"refused for a minute: {refusals[-1]}"
    finally:
        iam.delete_role_policy(RoleName=name, PolicyName="pull")
        iam.delete_role(RoleName=name)
    uses = "aws:SourceAccount" in json.dumps(role["AssumeRolePolicyDocument"])
    expected = "it does: the execution role's trust names it" if uses else ""
    good = seen == "CreateModel succeeds" or not uses
    return AwsAnswer("Does SageMaker send aws:SourceAccount when it assumes an execution role?", expected, seen, good)


def notifications_arrive(trial: Trial) -> AwsAnswer:
    """Submit a job and see whether the recorder runs, which only notifications start."""
    started = time.time()
    stack, job = _run_job(trial, ASYNC)
    (group,) = log_groups(stack, "record_result")
    topics = stack.clients("sns")
    arns = stack.resources["AWS::SNS::Topic"]
    keys = {topics.get_topic_attributes(TopicArn=arn)["Attributes"].get("KmsMasterKeyId") or "no key" for arn in arns}

    def look() -> bool | None:
        request = {"logGroupName": group, "startTime": int(started * 1000)}
        return bool(stack.clients("logs").filter_log_events(**request)["events"]) or None

    ran = trial.wait(look, 120)
    return AwsAnswer(
        "Does SageMaker announce the end of an asynchronous call on a topic with this key?",
        "the recorder hears of it, and the job succeeds",
        f"{', '.join(sorted(keys))}: the job is {job['status']}, and the recorder {'ran' if ran else 'did not run'}",
        bool(ran) and job["status"] == "succeeded",
    )


def output_is_named(trial: Trial) -> AwsAnswer:
    """Call the endpoint directly and compare the output location that SageMaker promises with what it writes."""
    stack, job = _run_job(trial, ASYNC)
    bucket = stack.outputs["JobBucket"]
    runtime, s3 = stack.clients("sagemaker-runtime"), stack.clients("s3")
    extension = f"smoke-{uuid.uuid4().hex[:8]}/1"
    promised = runtime.invoke_endpoint_async(
        EndpointName=stack.endpoint_name,
        InputLocation=f"s3://{bucket}/input/{job['id']}",
        ContentType="application/json",
        S3OutputPathExtension=extension,
    )
    key = promised["OutputLocation"].removeprefix(f"s3://{bucket}/")

    def look() -> list[str] | None:
        found = s3.list_objects_v2(Bucket=bucket, Prefix="output/").get("Contents", [])
        return [each["Key"] for each in found if extension.partition("/")[0] in each["Key"]] or None

    written = trial.wait(look, 120) or []
    ours = s3.list_objects_v2(Bucket=bucket, Prefix=f"output/{job['id']}/").get("Contents", [])
    return AwsAnswer(
        "Where does SageMaker write the output of a call with S3OutputPathExtension?",
        "at the OutputLocation that it answers, below output/<extension>",
        f"extension {extension}: answered {key} (failures: {promised.get('FailureLocation')}), wrote "
        f"{', '.join(written) or 'nothing in 2 minutes'}; of the job {', '.join(each['Key'] for each in ours)}",
        written == [key] and bool(ours),
    )


def busy_endpoint_refuses(trial: Trial) -> AwsAnswer:
    """Update the endpoint while it scales to zero instances."""
    stack = trial.stack(ASYNC)
    sagemaker, name = stack.clients("sagemaker"), stack.endpoint_name
    config = (stack.endpoint or {})["EndpointConfigName"]
    _scale_to_zero(stack)
    try:
        sagemaker.update_endpoint(EndpointName=name, EndpointConfigName=config)
        seen = "it is accepted"
    except ClientError as error:
        seen = str(error)
    trial.settled(ASYNC)
    return AwsAnswer(
        "Does SageMaker refuse an update while the endpoint scales?",
        "it does, as another operation is in progress",
        seen,
        "in-progress" in seen or "in progress" in seen,
    )


def update_at_zero(trial: Trial) -> AwsAnswer:
    """Update an endpoint at zero instances and see whether it starts any."""
    before = (trial.stack(ASYNC).endpoint or {})["EndpointConfigName"]
    started = time.monotonic()
    status = trial.deploy(ASYNC, turn=1)
    endpoint = trial.settled(ASYNC)
    changed = endpoint["EndpointConfigName"] != before
    return AwsAnswer(
        "Does an update at zero instances succeed, and does it start one?",
        "it succeeds",
        f"exit status {status} after {time.monotonic() - started:.0f} s, "
        f"{'a new' if changed else 'the old'} configuration, {_count(endpoint)} instances afterwards"
        f"{why(trial, ASYNC)}",
        status == 0 and changed,
    )


def waking(trial: Trial) -> AwsAnswer:
    """Submit a job at zero instances; instances that the update started are stopped first."""
    if _count(trial.settled(ASYNC)):
        _scale_to_zero(trial.stack(ASYNC))
    before = _count(trial.settled(ASYNC))
    started = time.monotonic()
    _, job = _run_job(trial, ASYNC)
    seen = f"from {before} instances {job['status']} after {time.monotonic() - started:.0f} s"
    return AwsAnswer(
        "How long does a job take that wakes the endpoint?", "it succeeds", seen, job["status"] == "succeeded"
    )


def component_at_zero(trial: Trial) -> list[AwsAnswer]:
    """Take a component to zero copies, wait until no instance is left, and wake it by a job."""
    stack = trial.stack(ZERO)
    sagemaker, name = stack.clients("sagemaker"), stack.component_name
    sagemaker.update_inference_component_runtime_config(
        InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": 0}
    )
    trial.wait(lambda: None if is_changing(trial.stack(ZERO).component) else True, _WAIT_IN_SECONDS)
    at_rest = time.monotonic()
    empty = trial.wait(lambda: None if _count(trial.stack(ZERO).endpoint or {}) else True, _WAIT_IN_SECONDS)
    gone = f"{time.monotonic() - at_rest:.0f} s after the last copy" if empty else "there is one after half an hour"
    started = time.monotonic()
    _, job = _run_job(trial, ZERO)
    took = f"{job['status']} after {time.monotonic() - started:.0f} s"
    wakes = hosting_of(trial.stack(ZERO)).state()["wakes"]
    return [
        AwsAnswer("When does an instance without a copy end?", "about 10 minutes later", gone, bool(empty)),
        AwsAnswer(
            "How long does a job take that wakes a component?",
            "it succeeds, by one wake",
            f"{took}; wakes today: {wakes['today']}, the last took {wakes['usual_seconds']} s",
            job["status"] == "succeeded" and wakes["today"] == 1,
        ),
    ]


def rollback(trial: Trial) -> list[AwsAnswer]:
    """Set off an alarm during an update, then update again."""
    stack = trial.stack(REALTIME)
    before = (stack.endpoint or {})["EndpointConfigName"]
    names = stack.resources["AWS::CloudWatch::Alarm"]
    pages = stack.clients("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNames=names)
    alarms = (each for page in pages for each in page["MetricAlarms"])
    (alarm,) = (each["AlarmName"] for each in alarms if each.get("MetricName") == "ModelFailures")
    with _switched_on(trial, alarm):
        exit_status = trial.deploy(REALTIME, turn=1)
    endpoint, stack = trial.settled(REALTIME), trial.stack(REALTIME)
    reason, is_back = endpoint.get("FailureReason") or "empty", endpoint["EndpointConfigName"] == before
    # CloudFormation may take the rollback for a success.
    is_noticed = stack.status == "UPDATE_ROLLBACK_COMPLETE" or not configuration(stack, endpoint).good
    rolled = AwsAnswer(
        "What is left of an update that an alarm rolls back?",
        "the old configuration; the stack says UPDATE_ROLLBACK_COMPLETE, or else verify finds it",
        f"exit status {exit_status}, the stack is {stack.status}, the endpoint {endpoint['EndpointStatus']} on the "
        f"{'old' if is_back else 'new'} configuration; FailureReason: {reason}",
        is_back and is_noticed,
    )
    exit_status = trial.deploy(REALTIME, turn=2)
    again = AwsAnswer(
        "Does the next update work after a rollback?",
        "it does",
        f"exit status {exit_status}, the stack is {trial.stack(REALTIME).status}{why(trial, REALTIME)}",
        exit_status == 0,
    )
    return [rolled, again]


def metrics_of_alarms(trial: Trial) -> AwsAnswer:
    """List the alarms whose metric does not exist: such an alarm never goes off."""
    stack = trial.stack(ASYNC)
    cloudwatch, missing, count = stack.clients("cloudwatch"), set(), 0
    for name in NAMES:
        names = trial.stack(name).resources["AWS::CloudWatch::Alarm"]
        for page in cloudwatch.get_paginator("describe_alarms").paginate(AlarmNames=names[:100]):
            for alarm in page["MetricAlarms"]:
                if "MetricName" in alarm:
                    count += 1
                    wanted = {key: alarm[key] for key in ("Namespace", "MetricName", "Dimensions")}
                    if not cloudwatch.list_metrics(**wanted)["Metrics"]:
                        missing.add(f"{alarm['Namespace']} {alarm['MetricName']} ({name})")
    return AwsAnswer(
        "Which metrics of alarms did not exist by the end? (Some come with a failure only.)",
        "",
        f"{len(missing)} of {count}: {', '.join(sorted(missing)) or 'none'}",
    )


def access_log(trial: Trial) -> AwsAnswer:
    """See whether API Gateway writes its access log, which it does with the account's role."""
    stack = trial.stack(REALTIME)
    (group,) = log_groups(stack, ACCESS)
    found = trial.wait(lambda: stack.clients("logs").filter_log_events(logGroupName=group)["events"] or None, 120)
    return AwsAnswer("Does API Gateway write the access log?", "it does", f"{len(found or [])} lines", bool(found))


@contextmanager
def _switched_on(trial: Trial, alarm: str) -> Iterator[None]:
    """Keep an alarm in the ALARM state until the block ends; CloudWatch sets an alarm without data back."""
    over = threading.Event()

    def switch() -> None:
        cloudwatch = trial.clients("cloudwatch")
        while not over.wait(trial.look_interval):
            if (trial.stack(REALTIME).endpoint or {}).get("EndpointStatus") == "Updating":
                cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="ALARM", StateReason="make smoke")

    switching = threading.Thread(target=switch)
    switching.start()
    try:
        yield
    finally:
        over.set()
        switching.join()


def _run_job(trial: Trial, name: str) -> tuple[DeployedStack, dict[str, Any]]:
    stack = trial.stack(name)
    api = DeployedApi(stack)
    answer = api.call("POST", "jobs", request_body("A list is", stack.bodies, max_tokens=8))
    if answer.status != 202:
        return stack, {"id": "none", "status": answer.problem}
    return stack, api.ended(answer.content, trial.seconds_left(_WAIT_IN_SECONDS))


def _scale_to_zero(stack: DeployedStack) -> None:
    wanted = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 0}]
    stack.clients("sagemaker").update_endpoint_weights_and_capacities(
        EndpointName=stack.endpoint_name, DesiredWeightsAndCapacities=wanted
    )


def _count(endpoint: dict[str, Any]) -> int:
    """The number of running instances."""
    return sum(variant["CurrentInstanceCount"] for variant in endpoint["ProductionVariants"])


def _model(stack: DeployedStack, sagemaker: Any) -> str:
    config = sagemaker.describe_endpoint_config(EndpointConfigName=(stack.endpoint or {})["EndpointConfigName"])
    return str(config["ProductionVariants"][0]["ModelName"])


def why(trial: Trial, name: str) -> str:
    """A colon and the reason of the stack's last failure; empty if nothing failed."""
    failure = last_failure(trial.stack(name))
    return f": {failure.reason}" if failure else ""


def asked(question: Question, trial: Trial) -> AwsAnswer:
    """The answer to a question. If AWS refuses the question itself, the refusal is the answer."""
    try:
        return question(trial)
    except (BotoCoreError, ClientError) as error:
        return AwsAnswer(str(question.__name__).replace("_", " "), "AWS answers", str(error), good=False)
