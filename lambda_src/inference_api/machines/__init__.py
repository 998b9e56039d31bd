"""The machines of `hosting.mode: ec2`: their rows, their starts, and whether they are ready."""
