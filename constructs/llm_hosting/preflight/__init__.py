"""Rules that find out before a deploy what AWS or the container would only say an hour later."""
