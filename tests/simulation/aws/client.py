"""A botocore client of a service in memory: checks parameters, takes time, injects faults, retries as botocore does."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from random import Random
from types import SimpleNamespace
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.model import OperationModel
from botocore.retries.standard import (
    ExponentialBackoff,
    RetryContext,
    StandardRetryConditions,
    ThrottledRetryableChecker,
)
from botocore.validate import ParamValidator

from inference_api.shared.runtime import OutOfTimeError, time_for_a_try
from simulation.aws.component import NO_CAPACITY
from simulation.aws.errors import Refusal
from simulation.runtime.faults import CONFLICT, CRASH_AFTER, CRASH_BEFORE, ERROR, THROTTLED, UNKNOWN, Faults
from simulation.runtime.functions import Functions

# Each service has its own error code for throttling.
_THROTTLES = {
    "dynamodb": ("ThrottlingException", 400),
    "s3": ("SlowDown", 503),
    "sqs": ("RequestThrottled", 403),
    "sagemaker": ("ThrottlingException", 400),
    "sagemaker-runtime": ("ThrottlingException", 400),
    "events": ("ThrottlingException", 400),
    "ec2": ("RequestLimitExceeded", 503),
}
# The first calls of each operation; later every tenth.
CHECKED_CALLS = 300
_DEFAULT_ATTEMPTS = {"dynamodb": 4}
_MEAN_LATENCY = {
    "dynamodb": 0.006,
    "s3": 0.03,
    "sqs": 0.01,
    "sagemaker": 0.1,
    "sagemaker-runtime": 0.02,
    "events": 0.02,
    "ec2": 0.3,
}
# Refusals by which a service tells its state, and not that the call was wrong.
_TELLING = (NO_CAPACITY, "Cannot update in-progress")


@cache
def _operations(service: str) -> dict[str, OperationModel]:
    model = botocore.session.get_session().get_service_model(service)
    return {xform_name(name): model.operation_model(name) for name in model.operation_names}


class Client:
    """A client. service: has a method for each operation, which may raise Refusal."""

    def __init__(
        self, service_name: str, service: Any, config: Config, functions: Functions, random: Random, faults: Faults
    ) -> None:
        self._name, self._service, self._random, self._faults = service_name, service, random, faults
        self._functions, self._scheduler = functions, functions.scheduler
        self._models = _operations(service_name)
        self._calls: Counter[str] = Counter()
        retries = config.retries or {}
        attempts = retries.get("total_max_attempts") or _DEFAULT_ATTEMPTS.get(service_name, 3)
        self._read_timeout = float(config.read_timeout)
        self._connect_timeout = float(config.connect_timeout)
        self._time_for_a_try = time_for_a_try(config)
        self._retry = StandardRetryConditions(attempts)
        self._back_off = ExponentialBackoff(
            random=random.random, service_name=service_name, throttling_detector=_Throttles()
        )

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        model, method = self._models[operation], getattr(self._service, operation)

        def call(**arguments: Any) -> Any:
            return self._call(model, method, arguments)

        self.__dict__[operation] = call
        return call

    def close(self) -> None:
        """Do nothing: no connection is open."""

    def generate_presigned_url(self, operation: str, Params: dict[str, Any], ExpiresIn: int) -> str:
        """Return a link that is signed locally, without a request."""
        self._check(self._models[operation], Params)
        return str(self._service.presigned_url(Params, ExpiresIn))

    def _call(self, model: OperationModel, method: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        for member in model.idempotent_members:
            arguments.setdefault(member, f"{self._random.getrandbits(128):032x}")
        self._check(model, arguments)
        attempt = 0
        while True:
            attempt += 1
            if not self._functions.has_time_for(self._time_for_a_try):
                raise OutOfTimeError
            try:
                return self._attempt(model, method, arguments)
            except (ClientError, HTTPClientError) as error:
                context = _context(attempt, model, error)
                if not self._retry.is_retryable(context):
                    raise
                self._scheduler.sleep(self._back_off.delay_amount(context))

    def _check(self, model: OperationModel, arguments: dict[str, Any]) -> None:
        """Check some of the calls: checks are slow, and the same code makes requests of the same shape."""
        self._calls[model.name] += 1
        if self._calls[model.name] > CHECKED_CALLS and self._calls[model.name] % 10:
            return
        report = ParamValidator().validate(arguments, model.input_shape)
        if report.has_errors():
            self._faults.invalid_calls[f"{model.name}: {report.generate_report()}"] += 1
            raise ParamValidationError(report=report.generate_report())

    def _attempt(self, model: OperationModel, method: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        fault = self._faults.of_call(model.name, self._functions.current().function.name)
        latency = self._random.expovariate(1 / _MEAN_LATENCY[self._name])
        self._scheduler.sleep(latency / 2)
        self._fail_before(fault, model)
        try:
            result = method(**arguments, **self._timeout(model))
        except Refusal as refusal:
            if refusal.code.startswith("Validation") and not refusal.message.startswith(_TELLING):
                self._faults.invalid_calls[f"{model.name}: {refusal.message}"] += 1
            raise refusal.for_caller(model.name) from None
        if fault == UNKNOWN:
            self._lose_the_answer(model)
        if fault == CRASH_AFTER:
            self._scheduler.die()
        self._scheduler.sleep(latency / 2)
        return result

    def _timeout(self, model: OperationModel) -> dict[str, float]:
        """Return the client's read timeout, for the one operation that may take longer."""
        return {"read_timeout": self._read_timeout} if model.name == "InvokeEndpoint" else {}

    def _fail_before(self, fault: str | None, model: OperationModel) -> None:
        if fault == CRASH_BEFORE:
            self._scheduler.die()
        if fault == THROTTLED:
            code, status = _THROTTLES[self._name]
            raise Refusal(code, "Rate exceeded", status).for_caller(model.name)
        if fault == CONFLICT:
            raise Refusal(
                "TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}]
            ).for_caller(model.name)
        if fault == ERROR:
            if self._random.random() < 0.5:
                raise Refusal("InternalServerError", "Internal server error", 500).for_caller(model.name)
            if self._random.random() < 0.5:
                raise EndpointConnectionError(endpoint_url="https://simulated")
            self._scheduler.sleep(self._connect_timeout)
            raise ConnectTimeoutError(endpoint_url="https://simulated")

    def _lose_the_answer(self, model: OperationModel) -> None:
        if self._random.random() < 0.5:
            raise Refusal("InternalServerError", "Internal server error", 500).for_caller(model.name)
        self._scheduler.sleep(self._read_timeout)
        raise ReadTimeoutError(endpoint_url="https://simulated")


class _Throttles:
    """botocore's own list of throttling errors."""

    def is_throttling_error_from_context(self, context: RetryContext) -> bool:
        return bool(ThrottledRetryableChecker().is_retryable(context))


def _context(attempt: int, model: OperationModel, error: Exception) -> RetryContext:
    if isinstance(error, ClientError):
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        response = SimpleNamespace(status_code=status, headers={})
        return RetryContext(attempt, model, parsed_response=error.response, http_response=response)
    return RetryContext(attempt, model, caught_exception=error)
