"""Read-only checks of the AWS account, with the caller's credentials."""
