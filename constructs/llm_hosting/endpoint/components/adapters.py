"""LoRA adapters of a model that is an inference component, each as a component on top of it."""

from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from ...deployment.settings.model import Model, archive_of_adapter
from ...weights.staged_adapters import policy_of_adapter
from ..served_model import ServedModel
from ..variant import VARIANT_NAME


class Adapters(Construct):
    """The adapters of a base component. SageMaker loads them into its running copies, and unloads deleted ones.

    base: the model's component. served: the model, whose role reads them. The functions call an adapter as
    `<name of the base>-<adapter>`; `components` has these names by adapter.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        model: Model,
        base: sagemaker.CfnInferenceComponent,
        endpoint_name: str,
        served: ServedModel,
    ) -> None:
        super().__init__(scope, construct_id)
        component = sagemaker.CfnInferenceComponent
        self.components = {name: f"{base.inference_component_name}-{name}" for name in sorted(model.adapters)}
        for name, prefix in sorted(model.adapters.items()):
            of_adapter = Construct(self, name)
            policy = policy_of_adapter(of_adapter, prefix, served.role, model.weights_kms_key_arn)
            served.let_endpoint(policy)
            made = component(
                of_adapter,
                "Component",
                inference_component_name=self.components[name],
                endpoint_name=endpoint_name,
                variant_name=VARIANT_NAME,
                specification=component.InferenceComponentSpecificationProperty(
                    base_inference_component_name=base.inference_component_name,
                    # The form that the API promises: "a single gzip compressed tar archive (.tar.gz suffix)".
                    container=component.InferenceComponentContainerSpecificationProperty(
                        artifact_url=archive_of_adapter(prefix)
                    ),
                ),
            )
            made.node.add_dependency(base, policy)
            served.tag(made)
