"""The worker on a machine of `hosting.mode: ec2`, and the tender that starts and stops machines."""
