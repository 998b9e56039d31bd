"""AWS's errors, as botocore raises them."""

from typing import Any

from botocore.exceptions import ClientError


class Refusal(Exception):
    """An error response of a service; the client turns it into botocore's ClientError."""

    def __init__(self, code: str, message: str = "", status: int = 400, **members: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.members = members

    def for_caller(self, operation: str) -> ClientError:
        response = {
            "Error": {"Code": self.code, "Message": self.message},
            "ResponseMetadata": {"HTTPStatusCode": self.status, "RequestId": "simulated", "HTTPHeaders": {}},
        }
        return ClientError(response | self.members, operation)


def invalid(message: str) -> Refusal:
    """Return DynamoDB's error for an invalid request."""
    return Refusal("ValidationException", message)
