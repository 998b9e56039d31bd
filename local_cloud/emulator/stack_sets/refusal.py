"""A refusal by StackSets: its code and its words."""


class StackSetsError(Exception):
    """A request that StackSets refuses; the message is its own, the code one of the API's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
