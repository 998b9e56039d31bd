"""Checks a deployment before any money is spent, and shows the result."""
