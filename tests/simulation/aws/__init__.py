"""AWS in memory: the operations that handlers call, with the limits, delays and errors of the real services."""
