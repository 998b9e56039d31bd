"""A fleet over the template of its deployment: its stack sets, their parameters, and the rules of both."""
