"""A small real model server that stands in for a TGI or LMI container: GET /ping, POST /invocations."""
