"""A model as an inference component of an endpoint, its own or a shared one, with adapters beside it."""
