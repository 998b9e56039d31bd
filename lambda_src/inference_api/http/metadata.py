"""The metadata that OpenAI's clients attach to objects: pairs of short texts."""

from typing import Any

from inference_api.shared.errors import ApiError

_MOST_PAIRS, _LONGEST_NAME, _LONGEST_VALUE = 16, 64, 512


def check_metadata(pairs: Any) -> dict[str, str] | None:
    """Return the pairs; None if there are none. Raises ApiError 400 `invalid_parameter`."""
    if pairs is None:
        return None
    texts = isinstance(pairs, dict) and all(isinstance(value, str) for value in pairs.values())
    if not texts or len(pairs) > _MOST_PAIRS:
        raise _invalid(f"must be an object of at most {_MOST_PAIRS} strings")
    if any(len(name) > _LONGEST_NAME or len(value) > _LONGEST_VALUE for name, value in pairs.items()):
        raise _invalid(f"names have at most {_LONGEST_NAME} characters, values {_LONGEST_VALUE}")
    return dict(pairs)


def _invalid(problem: str) -> ApiError:
    return ApiError("invalid_parameter", f"metadata: {problem}.", field="metadata")
