"""Text generation with transformers on CPU, behind the container contract: GET /ping and POST /invocations."""
