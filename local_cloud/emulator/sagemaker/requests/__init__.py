"""The requests of callers: checked as SageMaker checks them, and completed."""
