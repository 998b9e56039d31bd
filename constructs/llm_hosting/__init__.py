"""Constructs that host large language models on AWS; knows no stack, no file of the repository and no CDK context."""
