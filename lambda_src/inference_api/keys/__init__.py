"""The named keys of an API: their callers, their usage and their limits."""
