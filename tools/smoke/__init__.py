"""A smoke test on AWS: deploys two small endpoints, checks what only AWS can show, and removes everything."""
