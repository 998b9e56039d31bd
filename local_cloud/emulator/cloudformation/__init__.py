"""CloudFormation: resource types, the creation of stacks, and repairs of templates and change sets."""
