"""A real-time model that sleeps at zero copies: its state, and the calls that wake it."""
