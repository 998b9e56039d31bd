"""CloudFormation StackSets, and the organization to whose accounts they deploy."""
