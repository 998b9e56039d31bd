"""LiteLLM's proxy on Fargate, behind an internal load balancer, with the configuration that `slipway gateway` wrote.

docs/gateway.md has the steps before the first deploy: the secret with the keys, the image's digest, a certificate.

    npx cdk deploy --app "python -m examples.gateway.gateway" \\
      -c config=config.yaml -c image=ghcr.io/berriai/litellm@sha256:... -c certificate=arn:aws:acm:...
"""

import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct, IConstruct

PORT = 4000
LONGEST_STREAM = cdk.Duration.minutes(15)  # API Gateway ends it then; LiteLLM is silent while a model wakes
CALLERS = "10.0.0.0/8"  # addresses from which the load balancer takes calls: the new network's, and others it reaches
KEYS = "slipway-gateway"  # the secret: a JSON object with the value of each variable that the configuration names


class Gateway(cdk.Stack):
    """Two tasks of the proxy, which read their configuration from S3 and their keys from Secrets Manager.

    config: the file that `slipway gateway` wrote. image: with its digest, because a tag may change.
    certificate_arn: of ACM, for the name under which callers reach the load balancer. vpc: None = a new one.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Path,
        image: str,
        certificate_arn: str,
        vpc: ec2.IVpc | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        if not re.fullmatch(r"[^@\s]+@sha256:[0-9a-f]{64}", image):
            raise ValueError(f"image: {image!r} has no digest; give it as <repository>@sha256:<64 hex digits>.")
        vpc = vpc or _network(self)
        content = s3_assets.Asset(self, "Config", path=str(config))
        task = self._task(content, _variables(config), image)
        service = ecs.FargateService(
            self,
            "Service",
            cluster=_cluster(self, vpc),
            task_definition=task,
            desired_count=2,
            min_healthy_percent=100,
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
            health_check_grace_period=cdk.Duration.minutes(2),
        )
        balancer = self._balancer(vpc, service, certificate_arn)
        cdk.CfnOutput(self, "LoadBalancer", value=balancer.load_balancer_dns_name)

    def _task(self, content: s3_assets.Asset, variables: list[str], image: str) -> ecs.FargateTaskDefinition:
        task = ecs.FargateTaskDefinition(self, "Task", cpu=1024, memory_limit_mib=2048)
        # Not `grant_read`, which grants all objects of the bucket.
        config = content.bucket.arn_for_objects(content.s3_object_key)
        task.task_role.add_to_principal_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=[config]))
        keys = secretsmanager.Secret.from_secret_name_v2(self, "Keys", KEYS)
        task.add_container(
            "Proxy",
            image=ecs.ContainerImage.from_registry(image),
            command=["--port", str(PORT)],
            environment={
                "LITELLM_CONFIG_BUCKET_NAME": content.s3_bucket_name,
                "LITELLM_CONFIG_BUCKET_OBJECT_KEY": content.s3_object_key,
            },
            secrets={name: ecs.Secret.from_secrets_manager(keys, name) for name in variables},
            port_mappings=[ecs.PortMapping(container_port=PORT)],
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix="proxy",
                log_group=logs.LogGroup(
                    self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
                ),
            ),
        )
        _accept(task, {"ECS2": "The variables name the configuration; the keys come from Secrets Manager."})
        return task

    def _balancer(
        self, vpc: ec2.IVpc, service: ecs.FargateService, certificate_arn: str
    ) -> elbv2.ApplicationLoadBalancer:
        balancer = elbv2.ApplicationLoadBalancer(
            self, "Balancer", vpc=vpc, idle_timeout=LONGEST_STREAM, drop_invalid_header_fields=True
        )
        listener = balancer.add_listener(
            "Https",
            port=443,
            certificates=[acm.Certificate.from_certificate_arn(self, "Certificate", certificate_arn)],
            ssl_policy=elbv2.SslPolicy.RECOMMENDED_TLS,
            open=False,
        )
        listener.connections.allow_default_port_from(ec2.Peer.ipv4(CALLERS), "callers")
        listener.add_targets(
            "Proxy",
            port=PORT,
            protocol=elbv2.ApplicationProtocol.HTTP,
            targets=[service],
            deregistration_delay=LONGEST_STREAM,
            health_check=elbv2.HealthCheck(path="/health/liveliness"),
        )
        _accept(balancer, {"ELB2": "The proxy logs each request; a bucket of access logs would hold the same."})
        return balancer


def _network(scope: Construct) -> ec2.Vpc:
    vpc = ec2.Vpc(scope, "Vpc", max_azs=2, nat_gateways=1)
    vpc.add_flow_log("Flows", traffic_type=ec2.FlowLogTrafficType.REJECT)
    return vpc


def _cluster(scope: Construct, vpc: ec2.IVpc) -> ecs.Cluster:
    return ecs.Cluster(scope, "Cluster", vpc=vpc, container_insights_v2=ecs.ContainerInsights.ENABLED)


def _variables(config: Path) -> list[str]:
    """Return the variables that the configuration names."""
    return sorted(set(re.findall(r"os\.environ/(\w+)", config.read_text())))


def _accept(construct: IConstruct, reasons: dict[str, str]) -> None:
    """Acknowledge findings of cdk-nag."""
    cdk.Validations.of(construct).acknowledge(
        *(
            cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{finding}", reason=reason)
            for finding, reason in reasons.items()
        )
    )


def main() -> None:
    """Synthesize the stack."""
    app = cdk.App()
    given = {name: app.node.try_get_context(name) for name in ("config", "image", "certificate")}
    if missing := [name for name, value in given.items() if not value]:
        raise SystemExit(f"Give {' and '.join(f'-c {name}=...' for name in missing)}; see docs/gateway.md.")
    config, image, certificate = given.values()
    Gateway(app, "slipway-gateway", config=Path(config), image=image, certificate_arn=certificate)
    app.synth()


if __name__ == "__main__":
    main()
