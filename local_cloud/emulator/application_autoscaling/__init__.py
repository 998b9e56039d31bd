"""Application Auto Scaling: scales SageMaker variants by the policies of templates."""
