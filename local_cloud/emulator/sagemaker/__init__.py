"""SageMaker hosting: models, endpoint configurations, endpoints and their invocations."""
