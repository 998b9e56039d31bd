"""Runs a model.py as DJL Serving does: properties, Input and Output, one process for each rank."""
