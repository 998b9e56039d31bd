"""How each service words that it throttles a call, or fails on its own account."""

import json

from local_cloud.emulator import hooks

# Codes that botocore takes for throttling, so that it backs off as on AWS.
_THROTTLING = {
    "dynamodb": (400, "ProvisionedThroughputExceededException", "The level of configured provisioned throughput for "
                 "the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."),
    "s3": (503, "SlowDown", "Please reduce your request rate."),
}  # fmt: skip
_FAILURES = {
    "dynamodb": (500, "InternalServerError", "Internal server error"),
    "s3": (500, "InternalError", "We encountered an internal error. Please try again."),
    "sns": (500, "InternalError", "Internal server error"),
    "sqs": (500, "InternalError", "Internal server error"),
}
_QUERY_NAMESPACES = {"sns": "http://sns.amazonaws.com/doc/2010-03-31/"}


def throttled(service: str, code: str = "") -> hooks.Answer:
    """The answer to a call that did not run; `code` in place of the service's usual one."""
    status, usual, message = _THROTTLING.get(service, (400, "ThrottlingException", "Rate exceeded"))
    return _answer(service, status, code or usual, message)


def failed(service: str, code: str = "") -> hooks.Answer:
    """The answer to a call whose outcome its caller can't know."""
    status, usual, message = _FAILURES.get(service, (500, "InternalFailure", "An internal error occurred."))
    return _answer(service, status, code or usual, message)


def _answer(service: str, status: int, code: str, message: str) -> hooks.Answer:
    if service == "s3":
        body = f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>injected</RequestId></Error>"
        return status, {"Content-Type": "application/xml"}, body.encode()
    if namespace := _QUERY_NAMESPACES.get(service):
        kind = "Receiver" if status >= 500 else "Sender"
        error = f"<Error><Type>{kind}</Type><Code>{code}</Code><Message>{message}</Message></Error>"
        body = f'<ErrorResponse xmlns="{namespace}">{error}<RequestId>injected</RequestId></ErrorResponse>'
        return status, {"Content-Type": "text/xml"}, body.encode()
    headers = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-errortype": code}
    return status, headers, json.dumps({"__type": code, "message": message}).encode()
