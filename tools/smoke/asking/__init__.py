"""What a question is and works with: its stack, the clients, the record of the run."""
