"""User pools: their documents name HTTPS addresses, as on AWS; functions reach them there (lambda_/functions.py)."""

import functools

from local_cloud.emulator.core import ministack

_cognito = ministack.internals("ministack.services.cognito", "well_known_openid_configuration")


def _described(
    original: functools.partial[ministack.Answer], pool: str, region: str, host: str, scheme: str
) -> ministack.Answer:
    return original(pool, region, host, "https")


def install() -> None:
    """Apply the repair."""
    _cognito.well_known_openid_configuration = functools.partial(_described, _cognito.well_known_openid_configuration)
