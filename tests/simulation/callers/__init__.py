"""The callers of a trial, its settings, and the history of all that they and the functions did."""
