"""What a load test measured, and the figures computed from it."""
