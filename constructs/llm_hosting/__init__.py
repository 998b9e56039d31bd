"""Constructs that host large language models on AWS.

They know no stack, no file of the repository and no CDK context.
"""

ACCOUNT_SETTINGS = "slipway-account-settings"  # the stack with the settings of an account and region
STAGING_PREFIX = "slipway-staging-"  # + a deployment's name: the stack that stages its weights
FLEET_PREFIX = "slipway-fleet-"  # + a fleet's name: the stack of its stack sets
ENDPOINT_PREFIX = "slipway-endpoint-"  # + a shared endpoint's name: its stack, and the export of its name
STANDARDS = "slipway:standards"  # in the context: cdk-nag judges by the packs of NIST 800-53, HIPAA and PCI, too
ACCOUNT_DASHBOARD = "slipway:account-dashboard"  # in the context: the account settings make a dashboard of all services
DEPLOYMENT_TAG = "slipway:deployment"  # holds the stack's name, on all that may outlive stack or update
CONTENT_TAG = "slipway:content"  # on a table that may outlive the stack: `jobs`, or `usage` of keys
KEY_TAG = "slipway:key"  # holds a key's name, on its usage plan and on its values
MACHINE_TAG = "slipway:machine"  # + DEPLOYMENT_TAG: the number of a deployment's machine, from 0 on
ENDPOINT_LOGS = "/aws/sagemaker/Endpoints/"  # + the endpoint's name: its log group, as SageMaker names it
COMPONENT_LOGS = "/aws/sagemaker/InferenceComponents/"  # + the component's name: its log group, as SageMaker names it
COMPONENT_ENDPOINT_SUFFIX = "-ic"  # ends the name of an endpoint of components, which may stand beside the other kind
MACHINE_LOGS = "/slipway/machines/"  # + the machines' name: their log group
DESCRIPTION_PREFIX = "Slipway: "  # every deployment's stack has a description that begins so; the rest is for people
