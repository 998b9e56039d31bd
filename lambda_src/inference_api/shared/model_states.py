"""Whether the model answers now: the same words for endpoints and machines."""

READY, STARTING, ASLEEP, FAILED = "ready", "starting", "asleep", "failed"
