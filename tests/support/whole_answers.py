"""Turns a function's answer, whole or streamed, into one form."""

from typing import Any

from inference_api.http.streaming_runtime import Streamed


def whole(answer: Any) -> Any:
    """Turn a streamed answer into one of API Gateway's proxy integration; return any other unchanged."""
    if not isinstance(answer, Streamed):
        return answer
    return {"statusCode": answer.status, "headers": answer.headers, "body": b"".join(answer.pieces).decode()}
