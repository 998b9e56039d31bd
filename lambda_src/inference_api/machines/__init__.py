"""The machines of `hosting.mode: ec2` as the functions see them: their rows, starts and readiness."""
