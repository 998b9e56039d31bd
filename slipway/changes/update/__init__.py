"""What an update does to each resource: replacement, interruption, loss of data, price."""
