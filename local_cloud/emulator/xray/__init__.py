"""X-Ray: keeps the segments of API Gateway, of functions and of callers, by the permissions of their roles."""
