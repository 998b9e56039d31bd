"""What an update does to each resource: replaced, interrupted, its data, its price."""
