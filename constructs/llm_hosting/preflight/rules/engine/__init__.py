"""Rules over single engines: their options, the values of these, and what a version knows."""
