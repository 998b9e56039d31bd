"""Compares the catalog with what AWS publishes."""
