"""What runs in Lambda behind the REST API."""
