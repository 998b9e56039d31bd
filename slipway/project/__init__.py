"""A project of the user's own: writes its first files."""
