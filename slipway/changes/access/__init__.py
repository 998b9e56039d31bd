"""Who may do what: policies, grants, roles, and the callers of an API."""
