"""The functions' code, as text in a template or as archives beside it."""
