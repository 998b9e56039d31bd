"""The command line: `python -m slipway <command>`, one module per command."""
