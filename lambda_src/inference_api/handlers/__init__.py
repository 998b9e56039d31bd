"""The entry points of the functions."""
