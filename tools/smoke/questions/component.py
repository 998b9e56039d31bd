"""A model that sleeps as an inference component: when its last instance ends, and how long its wake takes."""

import time

from inference_api.wake.row import WAKE_KEY, WakeRow, from_item
from slipway.hosting.component import is_changing
from tools.smoke.asking.calls import run_job
from tools.smoke.asking.question import Answer, CouldNotAskError, Line, Question
from tools.smoke.asking.stacks import ZERO
from tools.smoke.asking.trial import Trial
from tools.smoke.questions.asynchronous import count

_WAIT_IN_SECONDS = 1800


def instance_ends(trial: Trial) -> Answer:
    """Take the component to zero copies, and wait until no instance is left."""
    if (seconds := _seconds_to_zero(trial)) is None:
        return Answer("there is one after half an hour", good=False)
    return Answer(f"{seconds:.0f} s after the last copy")


def wake(trial: Trial) -> Answer:
    """Wake the component by a job."""
    if _seconds_to_zero(trial) is None:
        raise CouldNotAskError("The endpoint still has an instance half an hour after the last copy.")
    before, started = _row(trial), time.monotonic()
    _, job = run_job(trial)
    took, after = time.monotonic() - started, _row(trial)
    wakes = after.asks - (before.asks if before.day == after.day else 0)
    seen = f"{job['status']} after {took:.0f} s; {wakes} wakes, the last took {after.wake_in_seconds:.0f} s"
    return Answer(seen, job["status"] == "succeeded" and wakes == 1)


def _seconds_to_zero(trial: Trial) -> float | None:
    """Have no copy and no instance; the time between the two. None = an instance stays."""
    stack = trial.stack()
    if (stack.component or {}).get("RuntimeConfig", {}).get("DesiredCopyCount") != 0:
        trial.clients("sagemaker").update_inference_component_runtime_config(
            InferenceComponentName=stack.component_name, DesiredRuntimeConfig={"CopyCount": 0}
        )
    trial.wait(lambda: None if is_changing(trial.stack().component) else True, _WAIT_IN_SECONDS)
    at_rest = time.monotonic()
    empty = trial.wait(lambda: None if count(trial.stack().endpoint or {}) else True, _WAIT_IN_SECONDS)
    return time.monotonic() - at_rest if empty else None


def _row(trial: Trial) -> WakeRow:
    """The functions' own row about wakes, whose days are those of their clock."""
    table, dynamodb = trial.stack().outputs["JobTable"], trial.clients("dynamodb")
    return from_item(dynamodb.get_item(TableName=table, Key=WAKE_KEY).get("Item", {}))


QUESTIONS = (
    Question(
        "instance-ends",
        "When does an instance without a copy end?",
        "about 10 minutes later",
        instance_ends,
        Line("docs/idle.md", "What happens while nobody calls", "That is 27 minutes for `zero`"),
        minutes=12,
        stack=ZERO,
        local="it ends within seconds",
        changes_line=True,
    ),
    Question(
        "component-wake",
        "How long does a job take that wakes a component?",
        "it succeeds, by one wake",
        wake,
        Line("docs/idle.md", "What happens while nobody calls", "Ours counts 300 s for instance and image"),
        minutes=10,
        stack=ZERO,
        local="instances start within seconds",
        changes_line=True,
    ),
)
