"""Constructs that host large language models on AWS; knows no stack, no file of the repository and no CDK context."""

ACCOUNT_SETTINGS = "slipway-account-settings"  # the stack with the settings of an account and region
STAGING_PREFIX = "slipway-staging-"  # + a deployment's name: the stack that stages its weights
FLEET_PREFIX = "slipway-fleet-"  # + a fleet's name: the stack of its stack sets
DEPLOYMENT_TAG = "slipway:deployment"  # holds the stack's name, on all that may outlive stack or update
MACHINE_TAG = "slipway:machine"  # + DEPLOYMENT_TAG: the number of a deployment's machine, from 0 on
DESCRIPTION_PREFIX = "Slipway: "  # every deployment's stack has a description that begins so; the rest is for people
