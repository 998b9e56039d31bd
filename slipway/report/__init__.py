"""A report as people read it."""
