"""The clock of the cloud, which tests speed up: start-up timeouts, waiting times and periods of alarms follow it."""

import os

SETTING = "SLIPWAY_LOCAL_CLOCK_SPEED"
SPEED = float(os.environ.get(SETTING, "1"))


def shortened(seconds: float) -> float:
    """How long these seconds of AWS take here."""
    return seconds / SPEED
