"""The first deploy of each stack: whether it succeeds, what the API answers meanwhile, and what `verify` finds."""

import time
from collections import Counter

from botocore.exceptions import BotoCoreError, ClientError

from slipway.hosting.check import Check
from slipway.operations.verify import checks_of
from slipway.stack.api import DeployedApi
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError
from slipway.stack.prompt import request_body
from tools.smoke.asking.question import Answer, CouldNotAskError, Line, Question
from tools.smoke.asking.stacks import ASYNC, EC2, REALTIME, STREAM, ZERO, SmokeStack
from tools.smoke.asking.trial import Trial, why

_STACKS = (REALTIME, STREAM, ASYNC, ZERO, EC2)
_ALARMS_SETTLE_IN_SECONDS = 600
_STARTING = ("503 endpoint_not_ready", "403", "200")


def first_deploy(stack: SmokeStack) -> Question:
    """The question about a stack's own deploy, which comes before all others about it."""

    def ask(trial: Trial) -> Answer:
        started = time.monotonic()
        status = trial.deploy()
        return Answer(f"exit status {status} after {time.monotonic() - started:.0f} s{why(trial)}", status == 0)

    return Question(
        f"deploy-{stack.name}",
        f"Does a first deploy of {stack.name} succeed?",
        "it does",
        ask,
        Line("docs/getting-started.md", "3. Deploy", "It exits with 0 if all of it worked"),
        minutes=stack.minutes,
        stack=stack,
        is_deploy=True,
    )


def answers_while_it_starts(trial: Trial) -> Answer:
    """Call POST /generate from the moment that the API exists until the stack is deployed."""
    statuses: Counter[str] = Counter()
    while not trial.is_deployed.wait(trial.look_interval):
        trial.stop.check()
        try:
            if status := _generate(trial.stack()):
                statuses[status] += 1
        except UnknownStackError:  # the stack does not exist yet
            continue
        except (BotoCoreError, ClientError) as error:
            statuses[type(error).__name__] += 1
    if not statuses:
        raise CouldNotAskError("There was no API before the endpoint was in service.")
    seen = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    return Answer(seen, all(status.startswith(_STARTING) for status in statuses))


def _generate(stack: DeployedStack) -> str | None:
    """The status and code of an answer; None = there is no stage yet, or the stack is complete."""
    apis = stack.resources.get("AWS::ApiGateway::Stage") and stack.resources["AWS::ApiGateway::RestApi"]
    if not apis or stack.status != "CREATE_IN_PROGRESS":
        return None
    place = f"https://{apis[0]}.execute-api.{stack.region}.amazonaws.com"
    if stack.local_cloud:
        place = f"{stack.local_cloud}/_aws/execute-api/{apis[0]}"
    outputs = [{"OutputKey": "ApiUrl", "OutputValue": f"{place}/v1/"}]
    starting = DeployedStack(stack.described | {"Outputs": outputs}, stack.clients)
    answer = DeployedApi(starting).call("POST", "generate", request_body("hi", ["inputs"], max_tokens=2))
    error = answer.content.get("error", {}) if isinstance(answer.content, dict) else {}
    return f"{answer.status} {error.get('code', '')}".strip()


def verified(trial: Trial) -> Answer:
    """Run the checks of `slipway verify`, again while one is bad: an alarm takes minutes to see that all is well."""
    checks: list[Check] = []
    started, first_bad = time.monotonic(), ""

    def look() -> bool | None:
        nonlocal first_bad
        checks[:] = checks_of(trial.stack(), timeout=trial.seconds_left(1800))
        first_bad = first_bad or _bad(checks)
        return not _bad(checks) or None

    trial.wait(look, _ALARMS_SETTLE_IN_SECONDS)
    for each in checks:
        trial.saw(f"{'ok' if each.good else 'FAILED'} {each.name}: {each.seen}")
    if bad := _bad(checks):
        return Answer(bad, good=False)
    late = f" after {time.monotonic() - started:.0f} s; before: {first_bad}" if first_bad else ""
    return Answer(f"all {len(checks)} checks are good{late}")


def _bad(checks: list[Check]) -> str:
    return "; ".join(f"{each.name}: {each.seen}" for each in checks if not each.good)


def _verify(stack: SmokeStack, when: str, *, is_last: bool) -> Question:
    return Question(
        f"verify-{stack.name}-{when.split()[-1]}",
        f"Does verify find {stack.name} good {when}?",
        "it does",
        verified,
        Line("docs/operations.md", "verify", "Exit status 0: all is good."),
        minutes=2,
        stack=stack,
        is_last=is_last,
    )


QUESTIONS = (
    Question(
        "answers-while-starting",
        "What does POST /generate answer while the endpoint is created?",
        "503 endpoint_not_ready, or 403 until the stage is there",
        answers_while_it_starts,
        Line("docs/architecture.md", "The life of an update", "the API answers 503 `endpoint_not_ready`"),
        minutes=0,
        stack=REALTIME,
        during_deploy=True,
    ),
    *(_verify(stack, "after the deploy", is_last=False) for stack in _STACKS),
    *(_verify(stack, "after the questions", is_last=True) for stack in (REALTIME, ASYNC, ZERO, EC2)),
)
