"""What `cdk deploy` can deploy: each stack only composes constructs, grants and outputs."""
