"""An app whose queue takes plain HTTP and has no dead-letter queue, under the same packs of cdk-nag as app.py."""

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

app = cdk.App(builtin_cloud_formation_validation=False)
sqs.Queue(cdk.Stack(app, "planted"), "Queue")
cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
app.synth()
