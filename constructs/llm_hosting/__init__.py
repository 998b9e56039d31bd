"""Constructs that host large language models on AWS; knows no stack, no file of the repository and no CDK context."""

ACCOUNT_SETTINGS = "slipway-account-settings"  # the stack that every account and region needs once
STAGING_PREFIX = "slipway-staging-"  # before a deployment's name: the stack that stages its weights
DEPLOYMENT_TAG = "slipway:deployment"  # holds the stack's name, on everything that a destroy leaves behind
