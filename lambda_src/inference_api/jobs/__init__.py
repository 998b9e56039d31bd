"""The life of a job: its row, its transitions, and who makes them."""
