"""What `cdk deploy` can deploy: stacks that only compose constructs, and how a name becomes one."""
