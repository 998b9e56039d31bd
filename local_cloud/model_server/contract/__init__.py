"""The contract between SageMaker and a model container: GET /ping and POST /invocations."""
