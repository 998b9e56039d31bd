"""Finds what of SageMaker's hosting outlives a stack or an update, and tells which of it is still in use."""

from collections.abc import Iterable, Iterator
from typing import Any

from slipway.leftovers.components import RetainedComponents
from slipway.leftovers.retained_resource import BusyEndpointError, RetainedResource

_PAGES = {"PageSize": 100}  # SageMaker's maximum


class RetainedHosting:
    """The components, endpoints, endpoint configurations and models among these ARNs that still exist, by name."""

    def __init__(self, arns: Iterable[str], sagemaker: Any) -> None:
        # SageMaker writes ARNs in lower case but keeps the case of names, so the names come from its lists.
        self._arns = {arn.lower() for arn in arns}
        self._sagemaker = sagemaker
        self._endpoints = self._existing("list_endpoints", "Endpoint")
        self._configurations = self._existing("list_endpoint_configs", "EndpointConfig")
        self._models = self._existing("list_models", "Model")
        self._components = RetainedComponents(self._arns, self._endpoints, sagemaker)

    def all(self) -> Iterator[RetainedResource]:
        """Yield everything that still exists, in the order in which it must be removed."""
        yield from self._components.all()
        for name in self._endpoints:
            status = self._sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"]
            yield self._endpoint(name, status)
        yield from map(self._configuration, self._configurations)
        yield from map(self._model, self._models)

    def unused(self, in_stack: set[str]) -> Iterator[RetainedResource]:
        """Yield the components without an endpoint, and the configurations and models that nobody uses.

        in_stack: names of the stack's own resources, in lower case. That is not enough: after SageMaker has rolled
        back by itself, an endpoint may use a configuration that is not in the stack. Raises BusyEndpointError.
        """
        yield from self._components.outside(in_stack, self._endpoints)
        used = {self._configuration_of(endpoint).lower() for endpoint in self._endpoints} | in_stack
        kept = [name for name in self._configurations if name.lower() in used]
        yield from (self._configuration(name) for name in self._configurations if name not in kept)
        in_use = self._components.models().union(*map(self._models_of, kept))
        serving = {model.lower() for model in in_use} | in_stack
        yield from (self._model(name) for name in self._models if name.lower() not in serving)

    def _existing(self, operation: str, noun: str) -> dict[str, Any]:
        pages = self._sagemaker.get_paginator(operation).paginate(PaginationConfig=_PAGES)
        listed = (each for page in pages for each in page[f"{noun}s"])
        return {
            each[f"{noun}Name"]: each["CreationTime"] for each in listed if each[f"{noun}Arn"].lower() in self._arns
        }

    def _configuration_of(self, endpoint: str) -> str:
        described = self._sagemaker.describe_endpoint(EndpointName=endpoint)
        if described["EndpointStatus"] not in ("InService", "Failed", "OutOfService"):
            raise BusyEndpointError(
                f"The endpoint {endpoint} is {described['EndpointStatus']}; try again when it is InService."
            )
        name: str = described["EndpointConfigName"]
        return name

    def _models_of(self, configuration: str) -> list[str]:
        described = self._sagemaker.describe_endpoint_config(EndpointConfigName=configuration)
        return [variant["ModelName"] for variant in described["ProductionVariants"] if "ModelName" in variant]

    def _endpoint(self, name: str, status: str) -> RetainedResource:
        return RetainedResource(
            "endpoint: its instances bill",
            name,
            status,
            lambda: self._sagemaker.delete_endpoint(EndpointName=name),
            bills=True,
        )

    def _configuration(self, name: str) -> RetainedResource:
        return RetainedResource(
            "endpoint configuration",
            name,
            f"made {self._configurations[name]:%Y-%m-%d}",
            lambda: self._sagemaker.delete_endpoint_config(EndpointConfigName=name),
        )

    def _model(self, name: str) -> RetainedResource:
        return RetainedResource(
            "model: its settings, no weights",
            name,
            f"made {self._models[name]:%Y-%m-%d}",
            lambda: self._sagemaker.delete_model(ModelName=name),
        )
