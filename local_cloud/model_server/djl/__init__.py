"""Runs a model.py as DJL Serving does: its properties, its Input and Output, one process for each rank."""
