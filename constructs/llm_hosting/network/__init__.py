"""The VPC of a deployment, and the endpoints of the AWS services in it."""
