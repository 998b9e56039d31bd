"""Checks of templates that need no cloud: what the emulator ignores, and what the services' APIs refuse."""
