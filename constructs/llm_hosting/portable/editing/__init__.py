"""Edits of a template: values at places, and parts that a condition leaves out."""
