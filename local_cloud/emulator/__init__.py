"""The emulated AWS: the emulator MiniStack, with services added to it or repaired in it."""
