"""Stacks, which only compose constructs."""
