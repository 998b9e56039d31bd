"""Draws the pictures of README.md and docs/ from the code that they show."""
