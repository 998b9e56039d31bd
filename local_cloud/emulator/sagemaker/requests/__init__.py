"""Checks and completes the requests of callers, as SageMaker does."""
