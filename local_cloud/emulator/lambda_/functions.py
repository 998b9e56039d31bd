"""Functions: repairs where MiniStack differs from AWS, in runtimes, roles, logs and the processes of functions."""

import json
import os
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.lambda_ import log_lines, streaming
from local_cloud.emulator.services import iam

_lambda = ministack.internals(
    "ministack.services.lambda_svc", "_emit_lambda_logs", "_get_func_record_for_ref", "invalidate_worker"
)
_runtime = ministack.internals("ministack.core.lambda_runtime", "_PYTHON_WORKER_SCRIPT", "reset")

# The emulator runs all of them with its own interpreter.
RUNTIMES = ("python3.10", "python3.11", "python3.12", "python3.13", "python3.14")

ISSUERS = "SLIPWAY_LOCAL_ISSUERS"  # ports on this machine by host

# A killed emulator cannot end its children, so each function's process watches for its parent. All functions share the
# cloud's clock; `datetime` keeps this machine's time, which signatures need.
# A layer holds binaries for Lambda's Python and processor, so functions with one import the same packages from this
# environment, and others can't import them. Only functions with a layer ask issuers of tokens. Those of user pools are
# this cloud, without TLS.
PROLOGUE = """
def _slipway_reach_issuers(issuers, port):
    import http.client, socket
    connect = http.client.HTTPSConnection.connect
    def connect_here(connection):
        is_user_pool = connection.host.startswith("cognito-idp.")
        there = port if is_user_pool else issuers.get(connection.host)
        if there:
            connection._create_connection = lambda _, *rest: socket.create_connection(("127.0.0.1", there), *rest)
        (http.client.HTTPConnection.connect if is_user_pool else connect)(connection)
    http.client.HTTPSConnection.connect = connect_here

def _slipway_prepare(parent, emulator_only, clock_file, started, speed, issuers, port):
    import mmap, os, struct, sys, threading, time
    real_time, real_sleep = time.time, time.sleep
    for name in emulator_only:
        os.environ.pop(name, None)
    if os.environ.pop("_LAMBDA_LAYERS_DIRS", ""):
        _slipway_reach_issuers(issuers, port)
    else:
        sys.modules["jwt"] = sys.modules["cryptography"] = None
    def watch():
        while os.getppid() == parent:
            real_sleep(0.5)
        os._exit(1)
    threading.Thread(target=watch, daemon=True).start()
    # The remaining time of an invocation follows the clock, too.
    os.environ["_LAMBDA_TIMEOUT"] = str(float(os.environ["_LAMBDA_TIMEOUT"]) * speed)
    with open(clock_file, "rb") as file:
        ahead = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
    def now():
        return started + (real_time() + struct.unpack("d", ahead[:8])[0] - started) * speed
    def sleep(seconds):
        end = now() + seconds
        while (left := end - now()) > 0:
            real_sleep(min(left / speed, 0.05))
    time.time, time.sleep = now, sleep

_slipway_prepare({parent}, {emulator_only}, {clock_file!r}, {started}, {speed}, {issuers}, {port})
"""


def function_configuration(function: str) -> dict[str, Any] | None:
    """The configuration of the function with this name or ARN, None if there is none."""
    config: dict[str, Any] | None = _lambda._get_func_record_for_ref(function)[1]
    return config


def function_allows(service: str, function_arn: str, source_arn: str) -> bool:
    """Whether a function's policy lets a service such as "events.amazonaws.com" invoke it for this source."""
    record, config, _ = _lambda._get_func_record_for_ref(function_arn)
    if not record:
        return True  # a missing function is reported by the invocation itself
    return iam.policy_allows(
        record["policy"], service, "lambda:InvokeFunction", config["FunctionArn"], {"aws:sourcearn": source_arn}
    )


def _prepare_processes(emulator_only: tuple[str, ...]) -> None:
    prologue = PROLOGUE.format(
        parent=os.getpid(),
        emulator_only=emulator_only,
        clock_file=str(clock.file),
        started=clock.STARTED,
        speed=clock.SPEED,
        issuers=json.loads(os.environ.get(ISSUERS, "{}")),
        port=ministack.own_endpoint_url().rpartition(":")[2],
    )
    _runtime._PYTHON_WORKER_SCRIPT = prologue + _runtime._PYTHON_WORKER_SCRIPT
    streaming.install(prologue)
    log_lines.install()


def stop_functions() -> None:
    """End the processes of all functions."""
    _runtime.reset()


def _demand_permission_to_log() -> None:
    write = _lambda._emit_lambda_logs

    def write_if_allowed(function: dict[str, Any], *rest: Any, **named: Any) -> None:
        config = function.get("config") or function
        group = (config.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{config['FunctionName']}"
        if _may_log(config["Role"], group):
            write(function, *rest, **named)

    _lambda._emit_lambda_logs = write_if_allowed


def _may_log(role_arn: str, group: str) -> bool:
    streams = f"arn:aws:logs:{ministack.region()}:{ministack.account_id()}:log-group:{group}:log-stream:*"
    return all(iam.role_may(role_arn, f"logs:{action}", streams) for action in ("CreateLogStream", "PutLogEvents"))


def _check(properties: dict[str, Any]) -> None:
    runtime = properties.get("Runtime", "")
    if runtime not in RUNTIMES:
        raise ValueError(
            f"Value {runtime} at 'runtime' failed to satisfy constraint: Member must satisfy enum value set: "
            f"[{', '.join(RUNTIMES)}] or be a valid ARN"
        )
    if not iam.role_trusts(properties["Role"], "lambda.amazonaws.com"):
        raise ValueError("The role defined for the function cannot be assumed by Lambda.")


def _end_processes(name: str, _: dict[str, Any]) -> None:
    """End the idle processes of a deleted function: MiniStack would keep one of them for good, with its memory."""
    _lambda.invalidate_worker(name, account=ministack.account_id(), region=ministack.region())


def install(emulator_only: tuple[str, ...]) -> None:
    """Apply the repairs; functions do not see the environment variables in `emulator_only`."""
    _prepare_processes(emulator_only)
    _demand_permission_to_log()
    extend_resource_type("AWS::Lambda::Function", check=_check, forget=_end_processes)
