"""Typed, frozen models of each section: every setting, its unit, its range, and the only place of defaults."""
