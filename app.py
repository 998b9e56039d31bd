"""The CDK app: `cdk deploy -c deployment=<name or path>[,<another>]`, or `cdk deploy -c fleet=<name or path>`."""

from slipway import create_app

create_app().synth()
