"""Parameters for operators: how long logs and jobs are kept, and the topics of the alarms."""

from collections.abc import Iterator
from typing import Any, get_args

from ...deployment.model import Deployment
from ...deployment.settings.jobs import Jobs
from ...deployment.settings.operating import LogRetentionInDays
from ..editing.conditions import only_if, referred
from ..editing.places import Template, at, in_texts, of_type, walk
from .parameter import Parameter

_HOURS = (1, 24, 72, 168, 336, 720, 2160, 8760)
_TOLD = "AlarmsAreTold"
_TOPIC = "arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+"


def parameters(deployment: Deployment) -> Iterator[Parameter]:
    """Return the parameters of retention and of the alarms' topics."""
    yield Parameter(
        "LogRetentionInDays",
        "Number",
        "Days after which log lines are deleted.",
        default=str(deployment.logs.retention_in_days),
        allowed=tuple(map(str, get_args(LogRetentionInDays))),
        places=(at("AWS::Logs::LogGroup", "RetentionInDays", {"Ref": "LogRetentionInDays"}),),
    )
    if deployment.jobs.enabled:
        yield _job_retention(deployment.jobs)
    yield Parameter(
        "AlarmTopicArn",
        "String",
        "SNS topic, in the region of the stack, that hears of each alarm and of its end. Empty = none.",
        default="",
        own=deployment.alarms.topic_arn,
        pattern=f"^({_TOPIC})?$",
        places=(_tell,),
        conditions={_TOLD: {"Fn::Not": [{"Fn::Equals": [{"Ref": "AlarmTopicArn"}, ""]}]}},
    )
    if paging := deployment.alarms.paging_topic_arn:
        yield Parameter(
            "PagingTopicArn",
            "String",
            "SNS topic, in the region of the stack, that hears only if callers get no answers.",
            own=paging,
            pattern=f"^{_TOPIC}$",
            places=tuple(
                at("AWS::CloudWatch::CompositeAlarm", actions, [{"Ref": "PagingTopicArn"}])
                for actions in ("AlarmActions", "OKActions")
            ),
        )


def _job_retention(jobs: Jobs) -> Parameter:
    """Return the retention of jobs, which functions read in seconds and the bucket in days."""
    choices = {str(hours): jobs.model_copy(update={"retention_in_hours": hours}) for hours in _hours(jobs)}

    def found(name: str) -> dict[str, Any]:
        return {"Fn::FindInMap": ["JobRetention", {"Ref": "JobRetentionInHours"}, name]}

    def keep_files(template: Template) -> None:
        """Set the days of the job bucket, which has versions; that of data capture has none and days of its own."""
        for bucket in of_type(template, "AWS::S3::Bucket").values():
            (rule,) = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
            if "NoncurrentVersionExpiration" in rule:
                days = found("FileDays")
                rule["ExpirationInDays"] = rule["NoncurrentVersionExpiration"]["NoncurrentDays"] = days
                rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"] = days

    text = '"retention_in_seconds":'
    return Parameter(
        "JobRetentionInHours",
        "Number",
        "Hours for which an ended job can be read.",
        default=str(jobs.retention_in_hours),
        allowed=tuple(choices),
        places=(
            in_texts(f"{text}{jobs.retention_in_seconds}", text, found("Seconds")),
            keep_files,
        ),
        mappings={
            "JobRetention": {
                hours: {"Seconds": str(each.retention_in_seconds), "FileDays": str(each.files_kept_in_days)}
                for hours, each in choices.items()
            }
        },
    )


def _hours(jobs: Jobs) -> list[int]:
    return sorted({*_HOURS, jobs.retention_in_hours})


def _tell(template: Template) -> None:
    """Let the budget and alarms notify the topic, but no alarm that only rolls back, scales, or signals an outage."""
    endpoints = of_type(template, "AWS::SageMaker::Endpoint").values()
    guards = {each["AlarmName"]["Ref"] for each in walk([*endpoints]) if isinstance(each, dict) and "AlarmName" in each}
    guards |= referred([*of_type(template, "AWS::CloudWatch::CompositeAlarm").values()])
    topic = only_if(_TOLD, [{"Ref": "AlarmTopicArn"}])
    for name, alarm in of_type(template, "AWS::CloudWatch::Alarm").items():
        scales = any(isinstance(action, dict) for action in alarm["Properties"].get("AlarmActions", []))
        if name not in guards and not scales:
            alarm["Properties"] |= {"AlarmActions": topic, "OKActions": topic}
    for budget in of_type(template, "AWS::Budgets::Budget").values():
        told = budget["Properties"]["NotificationsWithSubscribers"]
        for subscriber in (one for each in told for one in each["Subscribers"]):
            subscriber["Address"] = {"Ref": "AlarmTopicArn"}
        budget["Properties"]["NotificationsWithSubscribers"] = only_if(_TOLD, told)
