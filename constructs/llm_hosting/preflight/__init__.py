"""Laws that a deployment must keep, checked before the deploy instead of an hour into it."""
