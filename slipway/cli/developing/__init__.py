"""The verbs for facts of the catalog, and for work on Slipway itself."""
