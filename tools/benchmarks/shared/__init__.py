"""What all measurements use: pairs of rounds, and prices."""
