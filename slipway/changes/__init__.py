"""What an update of a CloudFormation stack means, read from two templates."""

from slipway.changes.change import KINDS, Change
from slipway.changes.classify import classify

__all__ = ["KINDS", "Change", "classify"]
