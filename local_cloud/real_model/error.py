"""The error of this package."""


class RealModelError(Exception):
    """A real model can't be used; the message is one sentence for the user of --real."""
