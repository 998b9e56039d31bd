"""Injects the faults that tests ask for: in front of every service, between them, and in running functions."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from local_cloud.emulator import (
    delivery_hooks,
    fault_answers,
    faults,
    hooks,
    lambda_run_hooks,
    request_hooks,
    sqs_hooks,
)
from local_cloud.emulator.delivery_hooks import Delivery
from local_cloud.emulator.faults import Fault
from local_cloud.emulator.lambda_hooks import function_configuration
from local_cloud.emulator.request_hooks import Proceed, ServiceCall
from local_cloud.emulator.sqs_hooks import Message, Queue

PATH = "/_slipway/faults"


async def _call(call: ServiceCall, proceed: Proceed) -> hooks.Answer:
    function = call.session if function_configuration(call.session) else ""
    fault = faults.take(call.service, call.operation, faults.CALL_KINDS, function=function, by_function=bool(function))
    if fault is None:
        return await proceed()
    if fault.fault == "throttle":
        return fault_answers.throttled(call.service, fault.code)
    if fault.fault == "error":
        return fault_answers.failed(call.service, fault.code)
    if fault.fault == "delay":
        await asyncio.sleep(fault.after_seconds)
    answer = await proceed()
    if fault.fault == "kill":
        lambda_run_hooks.kill_run(call.trace_id)
    return fault_answers.failed(call.service, fault.code) if fault.fault == "error_after" else answer


def _run(function: str, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    fault = faults.take("lambda", "Invoke", faults.RUN_KINDS, function=function)
    if fault is None:
        return proceed()
    crashed = {"error": True, "body": {"errorType": "Runtime.ExitError", "errorMessage": "injected"}, "log": ""}
    if fault.fault == "throttle":
        return lambda_run_hooks.throttled()
    if fault.fault == "error":
        return crashed
    if fault.fault == "delay":
        time.sleep(fault.after_seconds)
    if fault.fault == "kill":
        lambda_run_hooks.kill_next_run_after(fault.after_seconds)
    result = proceed()
    return crashed if fault.fault == "error_after" else result


def _deliver(delivery: Delivery, proceed: Callable[[], None]) -> None:
    fault = faults.take(delivery.service, "Deliver", faults.DELIVERY_KINDS, target=delivery.target_arn)
    if fault is not None and fault.fault == "delay":
        hooks.later(fault.after_seconds, proceed)
        return
    for _ in range(_times(fault)):
        proceed()


def _send(queue: Queue, put: Callable[[], Message]) -> None:
    message = put()
    fault = faults.take("sqs", "SendMessage", faults.DELIVERY_KINDS - faults.CALL_KINDS, target=queue["name"])
    if fault is not None:
        queue["messages"] += [dict(message) for _ in range(_times(fault) - 1)]
        if fault.fault == "drop":
            queue["messages"].remove(message)


def _times(fault: Fault | None) -> int:
    return 1 if fault is None else {"drop": 0, "duplicate": 2}[fault.fault]


def install() -> None:
    request_hooks.answer_calls_with(_call, when=faults.any_armed)
    lambda_run_hooks.run_functions_with(_run)
    delivery_hooks.deliver_with(_deliver)
    sqs_hooks.send_messages_with(_send)
    hooks.register_command("POST", PATH, faults.arm)
    hooks.register_view(PATH, faults.show)
    hooks.register_command("DELETE", PATH, lambda _: faults.clear())
