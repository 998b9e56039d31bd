"""Measurements of commands: check, local, stage, synth."""
