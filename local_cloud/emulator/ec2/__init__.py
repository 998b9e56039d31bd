"""EC2: instances, whose user data and services run as processes of this machine."""
