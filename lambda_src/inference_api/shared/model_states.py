"""The states of the model, the same for endpoints and machines."""

READY, STARTING, ASLEEP, FAILED = "ready", "starting", "asleep", "failed"
