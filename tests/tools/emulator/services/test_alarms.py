"""CloudWatch alarms change state by the last periods of their metrics, and composite ones by the states of others."""

import json
from typing import Any

import pytest

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import REGION, StackFailedError, create, resource, statement

NAMESPACE = "Test/Alarms"


class Alarm:
    """An alarm on its own metric: two of three minutes at 5 or more."""

    def __init__(self, cloud: LocalCloud, name: str, **properties: Any) -> None:
        self.name, self._cloud = name, cloud
        self._cloudwatch = cloud.client("cloudwatch", region=REGION)
        alarm = {
            "AlarmName": name,
            "MetricName": name,
            "Namespace": NAMESPACE,
            "Statistic": "Maximum",
            "Period": 60,
            "EvaluationPeriods": 3,
            "DatapointsToAlarm": 2,
            "Threshold": 5,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "TreatMissingData": "notBreaching",
        }
        create(cloud, name, {"Alarm": resource("CloudWatch::Alarm", alarm | properties)})

    def after(self, *values: float | None) -> str:
        """The state after one minute with each of these values, None for a minute without data."""
        for value in values:
            # Data in the middle of a period: it does not matter when exactly the alarm is evaluated.
            self._cloud.advance(30)
            if value is not None:
                data = [{"MetricName": self.name, "Value": value}]
                self._cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=data)
            self._cloud.advance(30)
        (found,) = self._cloudwatch.describe_alarms(AlarmNames=[self.name])["MetricAlarms"]
        return str(found["StateValue"])


def test_enough_breaching_periods_raise_an_alarm_and_it_ends_with_them(bare_cloud: LocalCloud) -> None:
    alarm = Alarm(bare_cloud, "two-of-three")
    assert alarm.after(4, 4.9, 5) == "OK"
    assert alarm.after(5) == "ALARM"
    assert alarm.after(4) == "ALARM"
    assert alarm.after(4) == "OK"


def test_every_period_must_breach_when_the_alarm_does_not_say_how_many(bare_cloud: LocalCloud) -> None:
    alarm = Alarm(bare_cloud, "three-of-three", DatapointsToAlarm=3)
    assert alarm.after(5, 5) == "OK"
    assert alarm.after(5) == "ALARM"


@pytest.mark.parametrize(
    ("treatment", "state"),
    [("notBreaching", "OK"), ("breaching", "ALARM"), ("missing", "INSUFFICIENT_DATA"), ("ignore", "ALARM")],
)
def test_periods_without_data_count_as_the_alarm_says(bare_cloud: LocalCloud, treatment: str, state: str) -> None:
    alarm = Alarm(bare_cloud, f"missing-{treatment}", TreatMissingData=treatment, DatapointsToAlarm=1)
    assert alarm.after(9) == "ALARM"
    assert alarm.after(None, None, None) == state


MATH = "IF(oldest > 10 AND FILL(ended, 0) < 1, 1, 0)"


class TestMetricMath:
    @pytest.mark.parametrize(
        ("oldest", "ended", "state"),
        [(11, None, "ALARM"), (11, 0, "ALARM"), (11, 1, "OK"), (10, None, "OK"), (None, None, "OK")],
    )
    def test_an_alarm_goes_by_the_value_of_its_expression(
        self, bare_cloud: LocalCloud, oldest: float | None, ended: float | None, state: str
    ) -> None:
        name = f"math-{oldest}-{ended}"
        metrics = [*(_of(name, each) for each in ("oldest", "ended")), {"Id": "e1", "Expression": MATH}]
        cloudwatch = _alarm_on(bare_cloud, name, metrics)
        bare_cloud.advance(30)
        data = [
            {"MetricName": f"{name}-{each}", "Value": value}
            for each, value in (("oldest", oldest), ("ended", ended))
            if value is not None
        ]
        if data:
            cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=data)
        bare_cloud.advance(30)
        assert _state(cloudwatch, name) == state

    def test_a_sum_has_a_value_if_each_part_is_filled(self, bare_cloud: LocalCloud) -> None:
        for name, expression, state in (
            ("filled", "SUM([FILL(a, 0), FILL(b, 0)])", "ALARM"),
            ("unfilled", "SUM([a, b])", "OK"),
        ):
            metrics = [*(_of(name, each) for each in "ab"), {"Id": "e1", "Expression": expression}]
            cloudwatch = _alarm_on(bare_cloud, name, metrics)
            bare_cloud.advance(30)
            cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=[{"MetricName": f"{name}-a", "Value": 1}])
            bare_cloud.advance(30)
            assert _state(cloudwatch, name) == state

    def test_an_expression_that_is_not_emulated_has_no_state(self, bare_cloud: LocalCloud) -> None:
        metrics = [_of("band", "a"), {"Id": "e1", "Expression": "ANOMALY_DETECTION_BAND(a)"}]
        cloudwatch = _alarm_on(bare_cloud, "band", metrics)
        bare_cloud.advance(60)
        assert _state(cloudwatch, "band") == "INSUFFICIENT_DATA"


def _of(alarm: str, metric: str) -> dict[str, Any]:
    stat = {"Metric": {"Namespace": NAMESPACE, "MetricName": f"{alarm}-{metric}"}, "Period": 60, "Stat": "Maximum"}
    return {"Id": metric, "MetricStat": stat, "ReturnData": False}


def _alarm_on(cloud: LocalCloud, name: str, metrics: list[dict[str, Any]]) -> Any:
    """Create an alarm on metric math, and return a client."""
    alarm = {
        "AlarmName": name,
        "Metrics": metrics,
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "notBreaching",
    }
    create(cloud, name, {"Alarm": resource("CloudWatch::Alarm", alarm)})
    return cloud.client("cloudwatch", region=REGION)


def _state(cloudwatch: Any, name: str) -> str:
    found = cloudwatch.describe_alarms(AlarmNames=[name], AlarmTypes=["CompositeAlarm", "MetricAlarm"])
    (alarm,) = found["MetricAlarms"] + found["CompositeAlarms"]
    return str(alarm["StateValue"])


class TestCompositeAlarms:
    """A composite alarm `name` on `name-a` and `name-b`, which tells a topic with a queue behind it."""

    def _create(self, cloud: LocalCloud, name: str) -> tuple[Any, Any]:
        """Return a client of CloudWatch, and a function that takes the states that the topic was told."""
        sns, sqs = (cloud.client(service, region=REGION) for service in ("sns", "sqs"))
        topic = sns.create_topic(Name=name)["TopicArn"]
        queue = sqs.create_queue(QueueName=name)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        open_to_topics = statement("sqs:SendMessage", arn, Principal={"Service": "sns.amazonaws.com"})
        policy = json.dumps({"Version": "2012-10-17", "Statement": [open_to_topics]})
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
        child = {
            "Namespace": NAMESPACE,
            "MetricName": name,
            "Statistic": "Maximum",
            "Period": 60,
            "EvaluationPeriods": 1,
            "Threshold": 1,
            "ComparisonOperator": "GreaterThanThreshold",
            "TreatMissingData": "ignore",  # its state is set, and stays
        }
        rule = {"Fn::Sub": "ALARM(${A.Arn}) OR ALARM(${B.Arn})"}
        composite = {"AlarmRule": rule, "AlarmActions": [topic], "OKActions": [topic], "AlarmDescription": "Down."}
        create(
            cloud,
            name,
            {
                "A": resource("CloudWatch::Alarm", child | {"AlarmName": f"{name}-a"}),
                "B": resource("CloudWatch::Alarm", child | {"AlarmName": f"{name}-b"}),
                "Down": resource("CloudWatch::CompositeAlarm", composite | {"AlarmName": name}),
            },
        )

        def told() -> list[tuple[str, str]]:
            found = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
            for each in found:
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=each["ReceiptHandle"])
            notices = [json.loads(json.loads(each["Body"])["Message"]) for each in found]
            return [(each["NewStateValue"], each["AlarmDescription"]) for each in notices]

        return cloud.client("cloudwatch", region=REGION), told

    def test_it_goes_by_its_rule_and_tells_its_topic_of_start_and_end(self, bare_cloud: LocalCloud) -> None:
        cloudwatch, told = self._create(bare_cloud, "down")
        told()
        for child, value, state, notices in (
            ("down-a", "ALARM", "ALARM", [("ALARM", "Down.")]),
            ("down-b", "ALARM", "ALARM", []),
            ("down-a", "OK", "ALARM", []),
            ("down-b", "OK", "OK", [("OK", "Down.")]),
        ):
            cloudwatch.set_alarm_state(AlarmName=child, StateValue=value, StateReason="a test")
            assert (_state(cloudwatch, "down"), told()) == (state, notices)

    def test_it_tells_nobody_while_its_actions_are_switched_off(self, bare_cloud: LocalCloud) -> None:
        cloudwatch, told = self._create(bare_cloud, "hushed")
        told()
        cloudwatch.disable_alarm_actions(AlarmNames=["hushed"])
        cloudwatch.set_alarm_state(AlarmName="hushed-a", StateValue="ALARM", StateReason="a test")
        assert (_state(cloudwatch, "hushed"), told()) == ("ALARM", [])
        cloudwatch.enable_alarm_actions(AlarmNames=["hushed"])
        cloudwatch.set_alarm_state(AlarmName="hushed-a", StateValue="OK", StateReason="a test")
        assert told() == [("OK", "Down.")]

    def test_a_rule_may_name_no_alarm_that_is_not_there(self, bare_cloud: LocalCloud) -> None:
        alone = {"AlarmRule": "ALARM(gone)", "AlarmName": "alone"}
        with pytest.raises(StackFailedError, match="do not exist"):
            create(bare_cloud, "alone", {"Down": resource("CloudWatch::CompositeAlarm", alone)})
