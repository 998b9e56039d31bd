"""A deployment's template: rendered for any account, and compared with another."""
