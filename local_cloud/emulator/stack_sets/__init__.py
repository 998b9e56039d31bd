"""CloudFormation StackSets, and the AWS organization whose accounts they deploy to."""
