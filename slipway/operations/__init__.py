"""The work of the verbs for a deployed stack: call it, show it, prove it."""
