"""The states of the model, the same for endpoints and machines."""

READY, STARTING, ASLEEP, FAILED = "ready", "starting", "asleep", "failed"

# SageMaker's status of a component that it deletes, and ours of one that it does not know.
DELETING, NOT_FOUND = "Deleting", "NotFound"


def state_of_component(status: str, current: int, desired: int) -> str:
    """Return READY, STARTING, ASLEEP or FAILED.

    status: SageMaker's, or NOT_FOUND. current, desired: numbers of copies.
    """
    if current:
        return READY
    if status in ("Failed", DELETING, NOT_FOUND):
        return FAILED
    return STARTING if desired or status in ("Creating", "Updating") else ASLEEP
