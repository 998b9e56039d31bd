"""What an endpoint and an inference component have in common: log group, image, model data, role and model."""

from collections.abc import Sequence
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from .. import DEPLOYMENT_TAG
from ..deployment.settings.model import Model
from ..deployment.settings.operating import Logs
from ..log_group import LogGroup
from ..resolution import Resolution
from ..security_group import SecurityGroup
from ..surroundings import Surroundings
from .container_image import ContainerImage
from .execution_role import ExecutionRole
from .model_archive import ModelArchive
from .replaced import outlive_replacement


class ServedModel:
    """A SageMaker model with all that it needs, as children of `scope`: a level of its own would rename them.

    role, log_group: of its containers. model: the L1 model. vpc_config: its network; None = SageMaker's own.
    volume_key: the ARN of the volumes' key, or None.

    model_handler: the folder of a handler, model.py; None = the image's own code serves.
    log_group_name: the name that SageMaker gives to the containers' log group. namespaces: those of their metrics.
    endpoint_role: the role of a shared endpoint; None = the endpoint is not shared.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        resolution: Resolution,
        model_handler: Path | None,
        surroundings: Surroundings,
        log_group_name: str,
        namespaces: Sequence[str],
        endpoint_role: iam.IRole | None = None,
    ) -> None:
        deployment = resolution.deployment
        self._scope, self._surroundings, self._endpoint_role = scope, surroundings, endpoint_role
        self.volume_key = surroundings.volume_key(
            deployment.hosting.volume_kms_key_arn,
            takes_key=resolution.volume_takes_key and endpoint_role is None,  # a shared endpoint has its own
        )
        self.log_group = model_log_group(scope, log_group_name, deployment.logs, surroundings)
        image = ContainerImage(scope, "Image", image=resolution.image)
        archive = (
            None
            if resolution.properties is None
            else ModelArchive(scope, "Archive", handler=model_handler, properties=resolution.properties)
        )
        self.role = ExecutionRole(scope, "Role", log_group=self.log_group, namespaces=namespaces)
        artefacts = self.role.allow_artefacts(deployment.model, self.volume_key, image, archive)
        self.let_endpoint(artefacts)
        self.vpc_config = self._vpc_config()
        self.model = self._create_model(image, _data(archive, deployment.model), resolution)

    def start_after_preparations(self, endpoint: sagemaker.CfnEndpoint) -> None:
        """Create an endpoint after the log group, which SageMaker would make itself, and after the network."""
        endpoint.node.add_dependency(self.log_group)
        if (network := self._surroundings.network) and network.connected:
            endpoint.node.add_dependency(network.connected)

    def let_endpoint(self, policy: iam.Policy) -> None:
        """Let a shared endpoint's role do what a policy of the model's role allows: nothing says which one is taken.

        Policies of one name in a role would replace each other, so the name has the deployment's, which no other has,
        and that of the adapter.
        """
        if self._endpoint_role is None:
            return
        iam.Policy(
            policy.node.scope,
            f"Endpoint{policy.node.id}",
            policy_name=f"{self._surroundings.unique_name}-{policy.node.scope.node.id}-{policy.node.id}",
            document=policy.document,
            roles=[self._endpoint_role],
        )

    def outlive_replacement(self, resource: cdk.CfnResource) -> None:
        """Keep a resource that an update replaces."""
        outlive_replacement(resource, self._surroundings.name)

    def tag(self, resource: Construct) -> None:
        """Tag a resource with the deployment's name."""
        cdk.Tags.of(resource).add(DEPLOYMENT_TAG, self._surroundings.name)

    def _create_model(
        self, image: ContainerImage, data: sagemaker.CfnModel.ModelDataSourceProperty | None, resolution: Resolution
    ) -> sagemaker.CfnModel:
        sagemaker_model = sagemaker.CfnModel(
            self._scope,
            "Model",
            execution_role_arn=self.role.role_arn,
            enable_network_isolation=resolution.deployment.hosting.network_isolation,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image.uri, environment=resolution.environment, model_data_source=data
            ),
            vpc_config=self.vpc_config,
        )
        # SageMaker checks the role's permissions when it creates the model; a reference would not wait for the policy.
        sagemaker_model.node.add_dependency(self.role)
        self.outlive_replacement(sagemaker_model)
        return sagemaker_model

    def _vpc_config(self) -> sagemaker.CfnModel.VpcConfigProperty | None:
        network = self._surroundings.network
        if network is None:
            return None
        self.role.allow_network_interfaces()
        groups = network.security_group_ids or [
            SecurityGroup(self._scope, "SecurityGroup", vpc_id=network.vpc_id).attr_group_id
        ]
        return sagemaker.CfnModel.VpcConfigProperty(security_group_ids=groups, subnets=network.subnet_ids)


def model_log_group(scope: Construct, name: str, settings: Logs, surroundings: Surroundings) -> LogGroup:
    """Make a log group that SageMaker names, and that outlives its endpoint or component."""
    log_group = LogGroup(
        scope,
        "LogGroup",
        retention_in_days=settings.retention_in_days,
        key=surroundings.log_key,
        name=name,
        removal_policy=cdk.RemovalPolicy.RETAIN,  # kept, because it holds the reason of a failed start
    )
    cdk.Tags.of(log_group).add(DEPLOYMENT_TAG, surroundings.name)
    return log_group


def _data(archive: ModelArchive | None, model: Model) -> sagemaker.CfnModel.ModelDataSourceProperty | None:
    if archive:
        return _source(archive.uri, "S3Object", "Gzip")
    return _source(model.weights, "S3Prefix", "None") if model.weights else None


def _source(uri: str, data_type: str, compression: str) -> sagemaker.CfnModel.ModelDataSourceProperty:
    location = sagemaker.CfnModel.S3DataSourceProperty(s3_uri=uri, s3_data_type=data_type, compression_type=compression)
    return sagemaker.CfnModel.ModelDataSourceProperty(s3_data_source=location)
