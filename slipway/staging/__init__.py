"""Weights on their way from the Hub to S3."""
