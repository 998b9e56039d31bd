"""The Python interpreters that run the local cloud, and what they can import."""
