"""Containers with an engine's own code: their requests, their limits and the shapes of their answers."""
