"""A deployment file becomes a typed deployment, or findings that say what to change."""
