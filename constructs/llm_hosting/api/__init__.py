"""The REST API, its keys, and the functions behind it."""
