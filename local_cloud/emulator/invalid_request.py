"""How SageMaker refuses a request."""


class InvalidRequestError(Exception):
    """A refusal in SageMaker's words; its code is ValidationException, at the runtime ValidationError."""


def broken_rule(value: str, path: str, rule: str) -> InvalidRequestError:
    """The refusal of a member's value."""
    path = ".".join(part[:1].lower() + part[1:] for part in path.split("."))
    return InvalidRequestError(
        f"1 validation error detected: Value {value} at '{path}' failed to satisfy constraint: {rule}"
    )
