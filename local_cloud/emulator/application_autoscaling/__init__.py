"""Application Auto Scaling of SageMaker variants, by the policies of templates."""
