"""Invariants: each reads the history of a trial and yields its breaches."""
