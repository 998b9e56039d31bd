"""The clock of the cloud, which tests speed up: start-up timeouts, waiting times and periods of alarms follow it."""

import os
import time

SETTING = "SLIPWAY_LOCAL_CLOCK_SPEED"
SPEED = float(os.environ.get(SETTING, "1"))
STARTED = time.time()


def now() -> float:
    """What this clock shows, in seconds of the epoch: it has run faster since the cloud started."""
    return STARTED + (time.time() - STARTED) * SPEED


def shortened(seconds: float) -> float:
    """How long these seconds of AWS take here."""
    return seconds / SPEED
