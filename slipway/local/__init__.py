"""The local cloud from the command line."""
