"""The verbs for what is deployed: call it, watch it, measure it, give it keys, clean up after it."""
