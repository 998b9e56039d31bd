"""The error that StackSets answers a refused request with."""


class StackSetsError(Exception):
    """A refusal by StackSets, with a code of its API."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
