"""AWS services that need only one module each."""
