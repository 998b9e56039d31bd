"""An update that an alarm takes back, and the update after it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from slipway.hosting.endpoint import configuration
from tools.smoke.asking.question import Answer, Line, Question
from tools.smoke.asking.stacks import REALTIME
from tools.smoke.asking.trial import Trial, why


def rollback(trial: Trial) -> Answer:
    """Set off an alarm during an update, then update again."""
    stack = trial.stack()
    before = trial.settled()["EndpointConfigName"]
    names = stack.resources["AWS::CloudWatch::Alarm"]
    pages = stack.clients("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNames=names)
    alarms = (each for page in pages for each in page["MetricAlarms"])
    (alarm,) = (each["AlarmName"] for each in alarms if each.get("MetricName") == "ModelFailures")
    with _switched_on(trial, alarm):
        status = trial.update()
    endpoint, stack = trial.settled(), trial.stack()
    is_back = endpoint["EndpointConfigName"] == before
    # CloudFormation may take the rollback for a success.
    is_noticed = stack.status == "UPDATE_ROLLBACK_COMPLETE" or not configuration(stack, endpoint).good
    rolled = (
        f"exit status {status}, the stack is {stack.status}, the endpoint {endpoint['EndpointStatus']} on the "
        f"{'old' if is_back else 'new'} configuration; FailureReason: {endpoint.get('FailureReason') or 'empty'}"
    )
    trial.saw(rolled)
    again = trial.update()
    seen = f"{rolled}. The next update: exit status {again}, the stack is {trial.stack().status}{why(trial)}"
    return Answer(seen, is_back and is_noticed and again == 0)


@contextmanager
def _switched_on(trial: Trial, alarm: str) -> Iterator[None]:
    """Keep an alarm in the ALARM state until the block ends; CloudWatch sets an alarm without data back."""
    over = threading.Event()

    def switch() -> None:
        cloudwatch = trial.clients("cloudwatch")
        while not over.wait(trial.look_interval):
            if (trial.stack().endpoint or {}).get("EndpointStatus") == "Updating":
                cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="ALARM", StateReason="make smoke")

    switching = threading.Thread(target=switch, daemon=True)
    switching.start()
    try:
        yield
    finally:
        over.set()
        switching.join()


QUESTIONS = (
    Question(
        "rollback",
        "What is left of an update that an alarm rolls back, and does the next one work?",
        "the old configuration; the stack says UPDATE_ROLLBACK_COMPLETE, or else verify finds it. The next one works",
        rollback,
        Line(
            "docs/architecture.md",
            "The life of an update",
            "SageMaker moves back, and CloudFormation rolls the stack back.",
        ),
        minutes=25,
        stack=REALTIME,
    ),
)
