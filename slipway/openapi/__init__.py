"""The OpenAPI document of all routes."""
