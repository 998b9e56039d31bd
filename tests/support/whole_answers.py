"""Answers of the functions in one form, whether they come whole or piece by piece."""

from typing import Any

from inference_api.http.streaming_runtime import Streamed


def whole(answer: Any) -> Any:
    """A streamed answer as one of API Gateway's proxy integration; any other as it is."""
    if not isinstance(answer, Streamed):
        return answer
    return {"statusCode": answer.status, "headers": answer.headers, "body": b"".join(answer.pieces).decode()}
