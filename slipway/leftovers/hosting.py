"""Finds endpoints, configurations and models that outlive a stack or an update, and tells which are still in use."""

from collections.abc import Iterable, Iterator
from typing import Any

from slipway.leftovers.retained_resource import RetainedResource

_PAGES = {"PageSize": 100}  # SageMaker's maximum


class BusyEndpointError(Exception):
    """An endpoint is between two configurations; the message is one sentence."""


class RetainedHosting:
    """The endpoints, endpoint configurations and models among these ARNs that still exist, by name."""

    def __init__(self, arns: Iterable[str], sagemaker: Any) -> None:
        # SageMaker writes ARNs in lower case but keeps the case of names, so the names come from its lists.
        self._arns = {arn.lower() for arn in arns}
        self._sagemaker = sagemaker
        self._endpoints = self._existing("list_endpoints", "Endpoint")
        self._configurations = self._existing("list_endpoint_configs", "EndpointConfig")
        self._models = self._existing("list_models", "Model")

    def all(self) -> Iterator[RetainedResource]:
        """Yield everything that still exists, in the order in which it must be removed."""
        for name in self._endpoints:
            status = self._sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"]
            yield self._endpoint(name, status)
        yield from map(self._configuration, self._configurations)
        yield from map(self._model, self._models)

    def unused(self, in_stack: set[str]) -> Iterator[RetainedResource]:
        """Yield the configurations, then the models, that neither the stack nor an endpoint uses.

        in_stack: names of the stack's own resources, in lower case. That is not enough: after SageMaker has rolled
        back by itself, an endpoint may use a configuration that is not in the stack. Raises BusyEndpointError.
        """
        used = {self._configuration_of(endpoint).lower() for endpoint in self._endpoints} | in_stack
        kept = [name for name in self._configurations if name.lower() in used]
        yield from (self._configuration(name) for name in self._configurations if name not in kept)
        serving = {model.lower() for name in kept for model in self._models_of(name)} | in_stack
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
        return [variant["ModelName"] for variant in described["ProductionVariants"]]

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
