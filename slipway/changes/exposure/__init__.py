"""What is open to the public."""
