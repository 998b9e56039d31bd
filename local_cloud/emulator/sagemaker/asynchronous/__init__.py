"""Asynchronous inference: the queue of an endpoint, and each invocation from there to its results."""
