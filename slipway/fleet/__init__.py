"""`slipway fleet`: what a deploy of a fleet would do, and what runs where."""
