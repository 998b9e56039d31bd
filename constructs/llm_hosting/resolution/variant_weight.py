"""The weight of an endpoint's only variant, which marks how the endpoint is updated.

SageMaker asks for a new configuration at each update of an endpoint (API reference, UpdateEndpoint), and may refuse the
one that runs. So the weight holds every setting that an update depends on: if one changes, there is a new
configuration. A variant gets every request, whatever its weight, as long as it is the only one.
"""

import zlib

from ..deployment.settings.hosting import Hosting

_FIXED, _SCALED, _SLEEPS = 0, 10_000, 20_000  # further apart than the longest wait
_GUARDED = 5_000_000  # twice as much is still below 16,777,216, the end of such a float's whole numbers


def variant_weight(hosting: Hosting) -> int:
    """Return the weight of an endpoint with the counts, the wait and the rollout of `hosting`."""
    count = hosting.instance_count
    kind = _FIXED if not count.is_scaled else _SLEEPS if count.min == 0 else _SCALED
    weight = 1 + kind + hosting.update_wait_in_seconds
    if hosting.canary:
        return _hashed(weight, hosting.canary.share, hosting.canary.minutes)
    return _hashed(weight, hosting.rolling.batch) if hosting.rolling else weight


def _hashed(*settings: int) -> int:
    """Return a hash, because guarded rollouts are more than the whole numbers that a float of 32 bits holds."""
    return _GUARDED + zlib.crc32(repr(settings).encode()) % _GUARDED


def awake_weight(hosting: Hosting) -> int:
    """Return the weight that an endpoint which scales to zero would have with another minimum."""
    return variant_weight(hosting) - _SLEEPS + _SCALED
