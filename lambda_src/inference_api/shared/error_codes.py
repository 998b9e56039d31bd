"""The codes of the errors that functions answer with, by status: for `ApiError` and for the OpenAPI document."""

from collections.abc import Mapping

CODES: Mapping[int, tuple[str, ...]] = {
    400: (
        "context_length_exceeded",
        "empty_body",
        "empty_input",
        "invalid_form",
        "invalid_idempotency_key",
        "invalid_input",
        "invalid_json",
        "invalid_parameter",
        "rejected_by_model",
        "stream_not_supported",
        "unsupported_body",
    ),
    401: ("invalid_api_key", "invalid_token"),
    404: ("batch_not_found", "file_not_found", "job_not_found", "model_not_found"),
    409: ("batch_not_cancellable", "idempotency_key_reused", "job_cancelled", "job_ended"),
    413: ("body_too_large", "file_too_large"),
    415: ("unsupported_media_type",),
    429: (
        "daily_tokens_exceeded",
        "model_busy",
        "throttled",
        "tokens_per_minute_exceeded",
        "tokens_per_month_exceeded",
        "too_many_open_jobs",
        "too_many_waiting",
    ),
    500: ("internal_error",),
    502: ("answer_not_text", "answer_too_large", "attempt_lost", "endpoint_refused", "model_error"),
    503: (
        "daily_wakes_exceeded",
        "endpoint_not_deployed",
        "endpoint_not_ready",
        "endpoint_unreachable",
        "model_busy",  # the status is the container's
        "model_not_started",
        "model_starting",
        "overloaded",
        "status_unknown",
        "try_again",
    ),
    504: ("deadline_exceeded", "model_timeout", "still_running"),
}
STATUS_OF: Mapping[str, int] = {code: status for status, codes in CODES.items() for code in codes}
