"""A name that no other stack of an account and region has, and that follows from the stack's id."""

import aws_cdk as cdk


def unique_name() -> str:
    """Return the stack's name and the first 8 characters of the GUID in its id, `arn:…:stack/<name>/<GUID>`."""
    guid = cdk.Fn.select(2, cdk.Fn.split("/", cdk.Aws.STACK_ID))
    return f"{cdk.Aws.STACK_NAME}-{cdk.Fn.select(0, cdk.Fn.split('-', guid))}"
