"""Generated files: the reference in docs/, the schemas, rows of the catalog."""
