"""Deploys and destroys a deployment with the CDK CLI: asks first, tests afterwards."""
