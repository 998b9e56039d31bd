"""Types of the members of a body of POST /responses, and the error for a wrong one."""

import json
from collections.abc import Callable
from typing import Any

from inference_api.shared.errors import ApiError

# Raises ApiError 400 that names the field.
Check = Callable[[Any, str], object]


def invalid(field: str, problem: str) -> ApiError:
    """Return the error for a member of the body. problem: what must change, without a full stop."""
    return ApiError("invalid_parameter", f"{field}: {problem}.", field=field)


def empty(field: str, fix: str) -> ApiError:
    """Return the error for a body without a prompt."""
    return ApiError("empty_input", f"{field}: {fix}.", field=field)


def _wrong_type(field: str, wanted: str, value: Any) -> ApiError:
    return invalid(field, f"must be {wanted}, not {json.dumps(value)[:40]}")


def a_text(value: Any, field: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise _wrong_type(field, "a string", value)
    return value


def a_name(value: Any, field: str) -> str:
    """Return a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise _wrong_type(field, "a string that is not empty", value)
    return value


def a_flag(value: Any, field: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise _wrong_type(field, "true or false", value)
    return value


def a_number(value: Any, field: str) -> float:
    """Return a number. Python counts true and false among them, JSON does not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(field, "a number", value)
    return value


def a_list(value: Any, field: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise _wrong_type(field, "a list", value)
    return value


def an_object(value: Any, field: str) -> dict[str, Any]:
    """Return an object."""
    if not isinstance(value, dict):
        raise _wrong_type(field, "an object", value)
    return value


def texts(value: Any, field: str) -> list[str]:
    """Return a list of strings."""
    return [a_text(each, f"{field}[{index}]") for index, each in enumerate(a_list(value, field))]


def a_number_from(least: int, most: int | None = None) -> Check:
    """Return the check of a whole number."""
    wanted = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"

    def check(value: Any, field: str) -> None:
        if type(value) is not int or value < least or (most is not None and value > most):
            raise _wrong_type(field, wanted, value)

    return check


def one_of(*allowed: str) -> Check:
    """Return the check of a word."""

    def check(value: Any, field: str) -> None:
        if value not in allowed:
            raise _wrong_type(field, " or ".join(allowed), value)

    return check


def refused(instead: str) -> Check:
    """Return the check of a member that this API does not have. instead: what callers can do."""

    def check(value: Any, field: str) -> None:
        raise invalid(field, f"is not supported here; {instead}")

    return check


def only_false(instead: str) -> Check:
    """Return the check of a member that may only be false."""

    def check(value: Any, field: str) -> None:
        if a_flag(value, field):
            raise invalid(field, f"must be false here; {instead}")

    return check
