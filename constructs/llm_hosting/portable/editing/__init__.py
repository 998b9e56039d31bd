"""Changes at places of a template, and parts that a condition leaves out."""
