"""Processes one asynchronous invocation: reads the input, calls the model, stores the output or failure, notifies."""

import time
from collections.abc import Callable

from botocore.exceptions import ClientError

from local_cloud.emulator.sagemaker.asynchronous.results import notify, read_object, write_object
from local_cloud.emulator.sagemaker.containers.call import ContainerAnswer, call_container
from local_cloud.emulator.sagemaker.containers.instance import ContainerSpec, EndpointInstance
from local_cloud.emulator.sagemaker.containers.metrics import count_async_answer, count_async_event
from local_cloud.emulator.sagemaker.requests.async_invocation import AsyncInvocation

_SEE_LOGS = "See the SageMaker Endpoint logs in your account for more information."


class _InvocationFailedError(Exception):
    """The invocation failed; `answer` is the content of its failure object."""

    def __init__(self, reason: str, answer: ContainerAnswer | None = None) -> None:
        super().__init__(reason)
        self.reason = f"ClientError: {reason}"
        self.answer = answer or ContainerAnswer(0, "text/plain", reason.encode())


def process(
    invocation: AsyncInvocation, spec: ContainerSpec, instance: EndpointInstance, is_wanted: Callable[[], bool]
) -> None:
    """Run a queued invocation on this instance; raises ContainerAwayError if the request did not reach the model.

    If is_wanted() is false after the model's answer, the endpoint was deleted: nothing is stored or published.
    """
    try:
        answer = _answer(invocation, spec, instance)
        if not is_wanted():
            return
        _store(invocation, spec, answer)
    except _InvocationFailedError as failed:
        if is_wanted():
            _fail(invocation, spec, failed)
    else:
        _notify(invocation, spec, answer, None)
        _count_end(invocation, spec)


def expire(invocation: AsyncInvocation, spec: ContainerSpec) -> None:
    """End an invocation that has waited longer than its RequestTTLSeconds."""
    count_async_event(spec, "ExpiredRequests")
    _fail(
        invocation,
        spec,
        _InvocationFailedError("The request expired: its RequestTTLSeconds were over before it was processed."),
    )


def _answer(invocation: AsyncInvocation, spec: ContainerSpec, instance: EndpointInstance) -> ContainerAnswer:
    body, waited = invocation.inline_body, _milliseconds_since(invocation.received_at)
    if invocation.input_location:
        try:
            body = read_object(spec.role_arn, invocation.input_location)
        except ClientError as error:
            count_async_event(spec, "RequestDownloadFailures")
            raise _InvocationFailedError(
                f"Unable to download {invocation.input_location}: {_text_of(error)}"
            ) from error
    started = time.time()
    answer = call_container(
        instance,
        invocation.content_type,
        invocation.accept,
        body,
        is_over=lambda: time.time() - started >= invocation.timeout,
    )
    count_async_answer(spec, answer.status, time.time() - started)
    count_async_event(spec, "TimeInBacklog", waited, "Milliseconds")
    if not answer.is_success:
        raise _InvocationFailedError(f"{answer.error}. {_SEE_LOGS}", answer)
    return answer


def _store(invocation: AsyncInvocation, spec: ContainerSpec, answer: ContainerAnswer) -> None:
    try:
        write_object(spec.role_arn, invocation.output_location, answer, invocation.key)
    except ClientError as error:
        count_async_event(spec, "ResponseUploadFailures")
        raise _InvocationFailedError(f"Unable to upload {invocation.output_location}: {_text_of(error)}") from error


def _fail(invocation: AsyncInvocation, spec: ContainerSpec, failed: _InvocationFailedError) -> None:
    count_async_event(spec, "InvocationFailures")
    if invocation.failure_location:
        try:
            write_object(spec.role_arn, invocation.failure_location, failed.answer, invocation.key)
        except ClientError:
            count_async_event(spec, "ResponseUploadFailures")
    _notify(invocation, spec, failed.answer, failed.reason)
    _count_end(invocation, spec)


def _notify(invocation: AsyncInvocation, spec: ContainerSpec, answer: ContainerAnswer, failure: str | None) -> None:
    try:
        notify(spec.role_arn, invocation, answer, failure)
    except ClientError:
        count_async_event(spec, "NotificationFailures")


def _count_end(invocation: AsyncInvocation, spec: ContainerSpec) -> None:
    count_async_event(spec, "InvocationsProcessed")
    count_async_event(spec, "TotalProcessingTime", _milliseconds_since(invocation.received_at), "Milliseconds")


def _milliseconds_since(moment: float) -> float:
    return (time.time() - moment) * 1000


def _text_of(error: ClientError) -> str:
    return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"
