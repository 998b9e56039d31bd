"""A model on EC2 machines: `hosting.mode: ec2`."""
