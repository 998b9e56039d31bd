"""A model on a SageMaker endpoint."""
