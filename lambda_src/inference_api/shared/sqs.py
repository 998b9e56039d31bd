"""SQS events: each message is handled by itself, and only those that failed come back."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from inference_api.shared.log import log, place_of

Message = Mapping[str, Any]


def handles_each(handle: Callable[[Message], None]) -> Callable[[Mapping[str, Any], Any], dict[str, Any]]:
    """Make `handle` the function's entry point. A message for which it raises stays in the queue."""

    @wraps(handle)
    def entry_point(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        failed = []
        for message in event["Records"]:
            try:
                handle(message)
            except Exception as error:
                log({"message": message["messageId"], "cause": place_of(error)})
                failed.append({"itemIdentifier": message["messageId"]})
        return {"batchItemFailures": failed}

    return entry_point
