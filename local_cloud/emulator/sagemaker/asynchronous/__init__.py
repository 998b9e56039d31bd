"""Asynchronous inference: the queue of an endpoint, the processing of each invocation, and its results."""
