"""CDK Pipelines: a push to main deploys `qwen3-4b` to dev and, after an approval, its overlay `qwen3-4b/prod`.

It needs a connection to the repository (CodeConnections) and the three accounts below, bootstrapped for this pipeline:

    npx cdk bootstrap aws://PIPELINE/REGION
    npx cdk bootstrap --trust PIPELINE --cloudformation-execution-policies POLICY_ARN aws://TARGET/REGION
    npx cdk deploy -c deployment=slipway-account-settings       # once in each target

Then deploy the pipeline once; it updates itself after every push:

    npx cdk deploy --app "python examples/cdk_pipeline.py" --context connection=CONNECTION_ARN
"""

import sys

import aws_cdk as cdk
from aws_cdk import pipelines
from constructs import Construct

from slipway import LlmService

REPOSITORY = "example/slipway"
PIPELINE = cdk.Environment(account="111122223333", region="us-east-1")
DEV = cdk.Environment(account="444455556666", region="us-east-1")
PROD = cdk.Environment(account="777788889999", region="us-east-1")


class Service(cdk.Stage):
    """One deployment in one account. Its stack has the name under which `slipway` finds it."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: str, env: cdk.Environment) -> None:
        super().__init__(scope, construct_id, env=env)
        name = deployment.replace("/", "-")  # `qwen3-4b-prod`, as `cdk deploy -c deployment=qwen3-4b/prod` names it
        # The id "Default" adds nothing to logical ids, so a stack of `cdk deploy` is updated and not replaced.
        LlmService(cdk.Stack(self, name, stack_name=name), "Default", deployment=f"deployments/{deployment}.yaml")


class PipelineStack(cdk.Stack):
    """The pipeline, in an account of its own."""

    def __init__(self, scope: Construct, construct_id: str, *, connection: str, env: cdk.Environment) -> None:
        super().__init__(scope, construct_id, env=env)
        synth = pipelines.ShellStep(
            "Synth",
            input=pipelines.CodePipelineSource.connection(REPOSITORY, "main", connection_arn=connection),
            commands=[
                "make setup",
                "export PATH=$PWD/.venv/bin:$PATH",
                "slipway check --strict qwen3-4b qwen3-4b/prod",
                f'npx cdk synth --quiet --app "python examples/cdk_pipeline.py" --context connection={connection}',
            ],
        )
        # The target accounts read the artifacts, which are therefore encrypted with a key that they may use.
        pipeline = pipelines.CodePipeline(self, "Pipeline", synth=synth, cross_account_keys=True)
        pipeline.add_stage(Service(self, "Dev", deployment="qwen3-4b", env=DEV))
        pipeline.add_stage(
            Service(self, "Prod", deployment="qwen3-4b/prod", env=PROD),
            pre=[pipelines.ManualApprovalStep("DevAnswers", comment="slipway verify qwen3-4b, in dev")],
        )


def main() -> None:
    """Synthesize the pipeline and the stacks that it deploys."""
    app = cdk.App()
    connection = app.node.try_get_context("connection")
    if not connection:
        sys.exit("Name the connection to the repository: --context connection=arn:aws:codeconnections:...")
    PipelineStack(app, "slipway-pipeline", connection=connection, env=PIPELINE)
    app.synth()


if __name__ == "__main__":
    main()
