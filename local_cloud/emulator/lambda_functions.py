"""Lambda as AWS runs it where the emulator differs: runtimes, roles, logs and what a function's process sees."""

import os
from typing import Any

from local_cloud.emulator import clock, hooks, lambda_hooks, role_hooks
from local_cloud.emulator.cloudformation_hooks import extend_resource_type

# The emulator runs every one of them with its own interpreter.
RUNTIMES = ("python3.10", "python3.11", "python3.12", "python3.13", "python3.14")

# A killed emulator cannot end its children, so each function's process watches for its parent. All functions share the
# cloud's clock; what they sign is dated by `datetime`, which keeps this machine's.
PROLOGUE = """
def _slipway_prepare(parent, emulator_only, started, speed):
    import os, threading, time
    real_time, real_sleep = time.time, time.sleep
    for name in emulator_only:
        os.environ.pop(name, None)
    def watch():
        while os.getppid() == parent:
            real_sleep(0.5)
        os._exit(1)
    threading.Thread(target=watch, daemon=True).start()
    # The time that a run has left, too.
    os.environ["_LAMBDA_TIMEOUT"] = str(float(os.environ["_LAMBDA_TIMEOUT"]) * speed)
    if speed != 1:
        time.time = lambda: started + (real_time() - started) * speed
        time.sleep = lambda seconds: real_sleep(seconds / speed)

_slipway_prepare({parent}, {emulator_only}, {started}, {speed})
"""


def _check(properties: dict[str, Any]) -> None:
    runtime = properties.get("Runtime", "")
    if runtime not in RUNTIMES:
        raise ValueError(
            f"Value {runtime} at 'runtime' failed to satisfy constraint: Member must satisfy enum value set: "
            f"[{', '.join(RUNTIMES)}] or be a valid ARN"
        )
    if not role_hooks.role_trusts(properties["Role"], "lambda.amazonaws.com"):
        raise ValueError("The role defined for the function cannot be assumed by Lambda.")


def _complete(function_name: str, properties: dict[str, Any]) -> None:
    lambda_hooks.allow_recursion(function_name, properties.get("RecursiveLoop") == "Allow")
    reserved = properties.get("ReservedConcurrentExecutions")
    lambda_hooks.reserve_concurrency(function_name, None if reserved is None else int(reserved))


def _may_log(role_arn: str, group: str) -> bool:
    streams = f"arn:aws:logs:{hooks.region()}:{hooks.account_id()}:log-group:{group}:log-stream:*"
    return all(
        role_hooks.role_may(role_arn, f"logs:{action}", streams) for action in ("CreateLogStream", "PutLogEvents")
    )


def install(emulator_only: tuple[str, ...]) -> None:
    """Apply the repairs; the named environment variables stay the emulator's own."""
    prologue = PROLOGUE.format(
        parent=os.getpid(), emulator_only=emulator_only, started=clock.STARTED, speed=clock.SPEED
    )
    lambda_hooks.prepare_function_processes(prologue)
    lambda_hooks.write_function_logs_if(_may_log)
    extend_resource_type("AWS::Lambda::Function", check=_check, complete=_complete)
