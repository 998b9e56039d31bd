"""Containers with an engine's own code: reads their requests, applies their limits, writes answers in their shapes."""
