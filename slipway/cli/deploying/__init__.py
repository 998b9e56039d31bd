"""The verbs before and around a deploy."""
