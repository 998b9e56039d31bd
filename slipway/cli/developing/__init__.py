"""The verbs for work on Slipway itself."""
