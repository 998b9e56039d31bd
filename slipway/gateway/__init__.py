"""Writes the configuration of a gateway in front of several deployments."""
