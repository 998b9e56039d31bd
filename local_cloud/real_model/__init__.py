"""A real model for `slipway local --real`: one process with torch, which all containers of a local cloud share."""
