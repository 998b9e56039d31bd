"""AWS in memory: what the handlers call, with the limits, delays and errors of the real services."""
