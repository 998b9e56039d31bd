"""The evidence that a security review asks for: roles, resources, open doors and accepted findings of a template."""
