"""The stacks. They only compose constructs."""
