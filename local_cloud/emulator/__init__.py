"""The emulated AWS: a stock emulator, and the services that are added to it or repaired in it."""
