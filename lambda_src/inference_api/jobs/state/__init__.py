"""A job's state: its row, its transitions, its files and its end."""
