"""What only the account knows: asked with the caller's credentials, changing nothing."""
