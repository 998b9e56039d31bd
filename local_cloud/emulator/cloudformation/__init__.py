"""CloudFormation: resource types, the creation of stacks, and repairs of conditions and change sets."""
