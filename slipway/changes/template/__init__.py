"""The two templates that are compared: read or synthesized, then resolved."""
