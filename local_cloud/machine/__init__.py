"""The inside of an emulated EC2 instance: its first process, its units, and stand-ins for Amazon Linux's commands."""
