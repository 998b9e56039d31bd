"""Does CloudFormation take a rendered template, in both forms of the functions' code, and one with 40 usage plans?"""

from functools import partial
from typing import Any

from slipway.operations.logs import log_groups
from slipway.stack.api import DeployedApi
from tools.smoke.asking.question import Answer, Line, Question
from tools.smoke.asking.rendered_stack import RenderedStack
from tools.smoke.asking.trial import Trial

_INLINE, _ARCHIVE, _PLANS = "slipway-smoke-inline", "slipway-smoke-archive", "slipway-smoke-plans"
_KEYS = 40
_COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
_READY_IN_SECONDS = 120  # API Gateway lets a new stage answer a little later


def life(trial: Trial, name: str, code: str) -> Answer:
    """Create the stack without its endpoint, call it, change a parameter, delete everything."""
    api = {"auth": "api-key", "keys": {"team": {"owner": "smoke"}}, "playground": True}
    stack = RenderedStack(trial, name, code, api)
    try:
        created = stack.create()
        if created not in _COMPLETE:
            return Answer(created, good=False)
        answered = _first_answer(trial, name)
        updated = stack.update(LogRetentionInDays="3")
    finally:
        left = stack.delete()
    seen = f"{created}, POST /generate: {answered}, {updated}, then {', '.join(left) or 'nothing'} is left"
    good = "503 endpoint_not_deployed" in answered and updated in _COMPLETE and not left
    return Answer(seen, good)


def _first_answer(trial: Trial, name: str) -> str:
    """Return status and code of POST /generate, and how long the function took to start."""
    deployed = trial.stack(name)
    api = DeployedApi(deployed)

    def look() -> str | None:
        answer = api.call("POST", "generate", {"inputs": "A list is"})
        trial.saw(f"{name}: POST /generate: {answer.problem}")
        return None if answer.status in (401, 403) else answer.problem

    answered = trial.wait(look, _READY_IN_SECONDS) or "401 or 403 for two minutes"
    started = trial.wait(lambda: _start(deployed), 1 if trial.is_local else 60)
    return f"{answered.partition(':')[0]}{started or ''}"


def _start(deployed: Any) -> str | None:
    """Lambda's own line about the start of the function; None if there is none yet."""
    logs = deployed.clients("logs")
    for group in log_groups(deployed, "generate"):
        for event in logs.filter_log_events(logGroupName=group, filterPattern='"Init Duration"')["events"]:
            return f" ({' '.join(event['message'].partition('Init Duration')[2].split()[1:3])} to start)"
    return None


def forty_plans(trial: Trial) -> Answer:
    """Create and delete a stack with a usage plan for each of 40 named keys."""
    keys = {f"team-{number:02}": {"owner": "smoke", "rate": 5, "burst": 10} for number in range(1, _KEYS + 1)}
    stack = RenderedStack(trial, _PLANS, "archive", {"auth": "api-key", "keys": keys})
    try:
        created = stack.create()
        plans = len(trial.stack(_PLANS).resources.get("AWS::ApiGateway::UsagePlan", []))
        throttled = _throttled(trial)
    finally:
        left = stack.delete()
    seen = f"{created} with {plans} plans; events that speak of throttling: {throttled or 'none'}; "
    return Answer(
        f"{seen}afterwards {', '.join(left) or 'nothing'} is left",
        created in _COMPLETE and plans > _KEYS and not left,
    )


def _throttled(trial: Trial) -> str:
    pages = trial.clients("cloudformation").get_paginator("describe_stack_events").paginate(StackName=_PLANS)
    reasons = [event.get("ResourceStatusReason", "") for page in pages for event in page["StackEvents"]]
    slow = [each for each in reasons if "Rate exceeded" in each or "Too Many Requests" in each]
    return f"{len(slow)}, such as {slow[0]}" if slow else ""


def _life(name: str, code: str) -> Question:
    return Question(
        id=f"rendered-{code}",
        title=f"Does CloudFormation create, update and delete a rendered template with --code {code}?",
        expected="it does, the API answers 503 endpoint_not_deployed meanwhile, and nothing is left",
        ask=partial(life, name=name, code=code),
        line=Line("docs/portable-template.md", "Code", "Neither form was tried on AWS."),
        changes_line=True,
        minutes=8,
        usd=0.01,
        makes=(name,),
    )


QUESTIONS = (
    _life(_INLINE, "inline"),
    _life(_ARCHIVE, "archive"),
    Question(
        id="forty-plans",
        title="Does a stack with 40 named keys, and so 41 usage plans, come and go?",
        expected="it does, however much API Gateway slows CloudFormation down",
        ask=forty_plans,
        line=Line("docs/keys.md", "Limits", "A deploy with 40 names was not tried on AWS."),
        changes_line=True,
        minutes=12,
        usd=0.01,
        makes=(_PLANS,),
        local="API Gateway's throttling of its own calls",
    ),
)
