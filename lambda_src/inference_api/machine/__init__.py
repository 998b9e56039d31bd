"""The machines of `hosting.mode: ec2`: their rows, starts and stops, and the worker that runs on each."""
