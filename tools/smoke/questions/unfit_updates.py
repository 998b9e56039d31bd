"""Updates of an endpoint that SageMaker refuses, or that can't start."""

import time
from typing import Any

from botocore.exceptions import ClientError

from slipway.operations.verify import checks_of
from slipway.stack.api import DeployedApi
from slipway.stack.prompt import request_body
from tools.smoke.asking.question import Answer, CouldNotAskError, Line, Question
from tools.smoke.asking.stacks import UPDATES
from tools.smoke.asking.trial import Trial, why

_ROLLED_BACK = "UPDATE_ROLLBACK_COMPLETE"
_OTHER_TYPE = "ml.c5.xlarge"
_NO_MODEL = "slipway/no such model"  # the Hub's library refuses an id with blanks before it asks the Hub


def same_configuration(trial: Trial) -> Answer:
    """Send the configuration that runs to UpdateEndpoint again."""
    before, started = trial.settled(), time.monotonic()
    name, configuration = before["EndpointName"], before["EndpointConfigName"]
    try:
        trial.clients("sagemaker").update_endpoint(EndpointName=name, EndpointConfigName=configuration)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise  # such as a missing permission, which tells nothing
        return Answer(str(error))
    after = trial.settled()
    took = f"{after['EndpointStatus']} after {time.monotonic() - started:.0f} s"
    return Answer(f"accepted: it is {took}; {after.get('FailureReason', 'no failure')}", good=False)


def other_type_while_scaled(trial: Trial) -> Answer:
    """Deploy another instance type while the variant is a scalable target."""
    before = trial.settled()["EndpointConfigName"]

    def edit(content: dict[str, Any]) -> None:
        content["hosting"]["instance_type"] = _OTHER_TYPE

    is_back, seen = _update_of_no_use(trial, edit, before)
    if "ResourceLimitExceeded" in seen or "service limit" in seen:
        raise CouldNotAskError(f"The account has no quota for {_OTHER_TYPE}, which is refused first: {seen}.")
    return Answer(seen, is_back and trial.stack().status == _ROLLED_BACK and "deregistered" in seen)


def cannot_start(trial: Trial) -> Answer:
    """Deploy a container that ends at its start, and see what is left."""
    before, started = trial.settled()["EndpointConfigName"], time.monotonic()

    def edit(content: dict[str, Any]) -> None:
        content["serving"]["environment"]["HF_MODEL_ID"] = _NO_MODEL

    is_back, seen = _update_of_no_use(trial, edit, before)
    took, stack = time.monotonic() - started, trial.stack()
    answer = DeployedApi(stack).call("POST", "generate", request_body("A list is", stack.bodies, max_tokens=2))
    bad = [f"{each.name}: {each.seen}" for each in checks_of(stack, timeout=trial.seconds_left(1800)) if not each.good]
    for each in bad:
        trial.saw(f"verify: {each}")
    found = ", ".join(each.partition(":")[0] for each in bad) or "nothing"
    seen = f"{seen}, after {took:.0f} s; POST /generate answers {answer.status}; verify finds fault with {found}"
    return Answer(seen, is_back and answer.status == 200 and bool(bad))


def _update_of_no_use(trial: Trial, edit: Any, before: str) -> tuple[bool, str]:
    """Whether the endpoint is on the configuration before the update again, and what is to be seen of it."""
    status = trial.update(edit)
    endpoint, stack = trial.settled(), trial.stack()
    is_back = endpoint["EndpointConfigName"] == before
    seen = (
        f"exit status {status}, the stack is {stack.status}, the endpoint {endpoint['EndpointStatus']} on the "
        f"{'old' if is_back else 'new'} configuration{why(trial)}"
    )
    return is_back, seen


QUESTIONS = (
    Question(
        "same-configuration",
        "What does UpdateEndpoint answer to the configuration that runs?",
        "a refusal. (No template of ours relies on it: each update has a new configuration)",
        same_configuration,
        Line("docs/operations.md", "Rollouts", "SageMaker asks for a new configuration."),
        minutes=8,
        stack=UPDATES,
    ),
    Question(
        "other-type-while-scaled",
        "Does SageMaker refuse another instance type while the endpoint is scaled?",
        "it does: the variant must be deregistered first; the stack rolls back",
        other_type_while_scaled,
        Line("docs/getting-started.md", "Changing the instance type under autoscaling", "It takes two deploys."),
        minutes=6,
        stack=UPDATES,
    ),
    Question(
        "update-cannot-start",
        "What is left of an update whose container ends at its start?",
        "the old instances answer all the while, and verify finds it, whatever CloudFormation says",
        cannot_start,
        Line("docs/getting-started.md", "When the model does not start", "the old instances answer all the while"),
        minutes=20,
        stack=UPDATES,
    ),
)
