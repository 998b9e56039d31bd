"""The inside of an emulated EC2 instance: first process, services, and stand-ins for Amazon Linux's commands."""
