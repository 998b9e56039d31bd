"""SageMaker hosting: models, endpoint configurations, endpoints and invocations."""
