"""What every service of the emulator stands on: the adapter to MiniStack, the cloud's clock, and requests."""
