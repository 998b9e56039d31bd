"""The base of every emulated service: the adapter to MiniStack, the cloud's clock, routing, signatures, streams."""
