"""The Lambda functions behind the REST API."""
