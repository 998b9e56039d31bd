"""Resources that outlive a deployment's stack, and their removal."""
