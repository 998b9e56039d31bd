"""VPCs: what functions, containers and machines in their subnets reach."""
