"""An asynchronous endpoint: announcements, names of outputs, updates while it scales and at zero, a wake."""

import time
import uuid
from typing import Any

from botocore.exceptions import ClientError

from slipway.operations.logs import log_groups
from slipway.stack.deployed_stack import DeployedStack
from tools.smoke.asking.calls import run_job
from tools.smoke.asking.question import Answer, Line, Question
from tools.smoke.asking.stacks import ASYNC
from tools.smoke.asking.trial import Trial, why


def notifications_arrive(trial: Trial) -> Answer:
    """Submit a job and see whether the recorder runs, which only notifications start."""
    started = time.time()
    stack, job = run_job(trial)
    (group,) = log_groups(stack, "record_result")
    topics = stack.clients("sns")
    arns = stack.resources["AWS::SNS::Topic"]
    keys = {topics.get_topic_attributes(TopicArn=arn)["Attributes"].get("KmsMasterKeyId") or "no key" for arn in arns}

    def look() -> bool | None:
        request = {"logGroupName": group, "startTime": int(started * 1000)}
        return bool(stack.clients("logs").filter_log_events(**request)["events"]) or None

    ran = trial.wait(look, 120)
    seen = f"{', '.join(sorted(keys))}: the job is {job['status']}, the recorder {'ran' if ran else 'did not run'}"
    return Answer(seen, bool(ran) and job["status"] == "succeeded")


def output_is_named(trial: Trial) -> Answer:
    """Call the endpoint directly and compare the output location that SageMaker promises with what it writes."""
    stack, job = run_job(trial)
    bucket = stack.outputs["JobBucket"]
    runtime, s3 = trial.clients("sagemaker-runtime"), trial.clients("s3")
    extension = f"smoke-{uuid.uuid4().hex[:8]}/1"
    promised = runtime.invoke_endpoint_async(
        EndpointName=stack.endpoint_name,
        InputLocation=f"s3://{bucket}/input/{job['id']}",
        ContentType="application/json",
        S3OutputPathExtension=extension,
    )
    key = promised["OutputLocation"].removeprefix(f"s3://{bucket}/")
    trial.saw(f"answered {key}, for failures {promised.get('FailureLocation')}")

    def look() -> list[str] | None:
        found = s3.list_objects_v2(Bucket=bucket, Prefix="output/").get("Contents", [])
        return [each["Key"] for each in found if extension.partition("/")[0] in each["Key"]] or None

    written = trial.wait(look, 120) or []
    ours = s3.list_objects_v2(Bucket=bucket, Prefix=f"output/{job['id']}/").get("Contents", [])
    return Answer(
        f"extension {extension}: answered {key}, wrote {', '.join(written) or 'nothing in 2 minutes'}; "
        f"of the job {', '.join(each['Key'] for each in ours)}",
        written == [key] and bool(ours),
    )


def busy_endpoint_refuses(trial: Trial) -> Answer:
    """Update the endpoint while it scales to zero instances, with a copy of its configuration."""
    stack, sagemaker = trial.stack(), trial.clients("sagemaker")
    own = sagemaker.describe_endpoint_config(EndpointConfigName=trial.settled()["EndpointConfigName"])
    copy = trial.made("config")  # the run removes it: an endpoint that took it needs it until its end
    members = {member: own[member] for member in ("ProductionVariants", "AsyncInferenceConfig")}
    sagemaker.create_endpoint_config(EndpointConfigName=copy, **members)
    _scale_to_zero(stack)
    try:
        sagemaker.update_endpoint(EndpointName=stack.endpoint_name, EndpointConfigName=copy)
        seen = "it is accepted"
    except ClientError as error:
        seen = str(error)
    trial.settled()
    return Answer(seen, "in-progress" in seen or "in progress" in seen)


def update_at_zero(trial: Trial) -> Answer:
    """Update an endpoint at zero instances and see whether it starts any."""
    _at_zero(trial)
    before = (trial.stack().endpoint or {})["EndpointConfigName"]
    started = time.monotonic()
    status = trial.update()
    endpoint = trial.settled()
    changed = endpoint["EndpointConfigName"] != before
    return Answer(
        f"exit status {status} after {time.monotonic() - started:.0f} s, {'a new' if changed else 'the old'} "
        f"configuration, {count(endpoint)} instances afterwards{why(trial)}",
        status == 0 and changed,
    )


def waking(trial: Trial) -> Answer:
    """Submit a job at zero instances."""
    _at_zero(trial)
    before, started = count(trial.settled()), time.monotonic()
    _, job = run_job(trial)
    seen = f"from {before} instances {job['status']} after {time.monotonic() - started:.0f} s"
    return Answer(seen, job["status"] == "succeeded" and before == 0)


def _at_zero(trial: Trial) -> None:
    if count(trial.settled()):
        _scale_to_zero(trial.stack())
        trial.settled()


def _scale_to_zero(stack: DeployedStack) -> None:
    wanted = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 0}]
    stack.clients("sagemaker").update_endpoint_weights_and_capacities(
        EndpointName=stack.endpoint_name, DesiredWeightsAndCapacities=wanted
    )


def count(endpoint: dict[str, Any]) -> int:
    """The number of running instances."""
    return sum(variant["CurrentInstanceCount"] for variant in endpoint.get("ProductionVariants", []))


QUESTIONS = (
    Question(
        "notifications",
        "Does SageMaker announce the end of an asynchronous call on a topic with this key?",
        "the recorder hears of it, and the job succeeds",
        notifications_arrive,
        Line("docs/permissions.md", "Roles of every deployment", "SageMaker announces that a job has ended."),
        minutes=2,
        stack=ASYNC,
    ),
    Question(
        "output-location",
        "Where does SageMaker write the output of a call with S3OutputPathExtension?",
        "at the OutputLocation that it answers, below output/<extension>",
        output_is_named,
        Line("docs/decisions.md", "Decisions", "Outputs are found however SageMaker names them."),
        minutes=2,
        stack=ASYNC,
        local="it joins path, extension and name as folders, as we think that SageMaker does",
    ),
    Question(
        "busy-endpoint",
        "Does SageMaker refuse an update while the endpoint scales?",
        "it does, as another operation is in progress",
        busy_endpoint_refuses,
        Line(
            "docs/getting-started.md",
            "Update or destroy while it scales",
            "SageMaker refuses both while it adds or removes instances",
        ),
        minutes=5,
        stack=ASYNC,
    ),
    Question(
        "update-at-zero",
        "Does an update at zero instances succeed, and does it start one?",
        "it succeeds",
        update_at_zero,
        Line(
            "docs/getting-started.md",
            "Update or destroy while it scales",
            "An update at zero instances starts one instance to prove the new configuration.",
        ),
        minutes=12,
        stack=ASYNC,
    ),
    Question(
        "async-wake",
        "How long does a job take that wakes the endpoint?",
        "it succeeds; about 9 minutes",
        waking,
        Line("docs/idle.md", "What happens while nobody calls", "| [`async`](#async), minimum 0 |"),
        minutes=12,
        stack=ASYNC,
        local="instances start within seconds",
        changes_line=True,
    ),
)
