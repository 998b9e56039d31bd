"""Templates before and after: read, synthesized, and with their values filled in."""
