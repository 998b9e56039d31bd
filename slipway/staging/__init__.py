"""Copies weights from the Hub to S3."""
