"""Requests from API Gateway, and answers to it, whole or piece by piece."""
