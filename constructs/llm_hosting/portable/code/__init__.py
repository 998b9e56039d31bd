"""The functions' code, inline in a template or as archives beside it."""
