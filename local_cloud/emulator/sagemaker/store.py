"""The models, endpoint configurations, endpoints and components of one account and region, by name."""

from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.sagemaker.components.adapter import Adapter
from local_cloud.emulator.sagemaker.components.component import Component
from local_cloud.emulator.sagemaker.components.endpoint import ComponentEndpoint
from local_cloud.emulator.sagemaker.endpoint import Endpoint
from local_cloud.emulator.sagemaker.requests.validation import InvalidRequestError

models: Any = ministack.scoped_store()
endpoint_configs: Any = ministack.scoped_store()
endpoints: Any = ministack.scoped_store()
components: Any = ministack.scoped_store()
# Adapter components, which also count as inference components.
adapters: Any = ministack.scoped_store()


def arn_of(kind: str, name: str) -> str:
    # SageMaker keeps the case of names but writes ARNs in lower case, and IAM compares with the ARNs.
    return f"arn:aws:sagemaker:{ministack.region()}:{ministack.account_id()}:{kind}/{name.lower()}"


def find_model(name: str) -> dict[str, Any]:
    model: dict[str, Any] = _find(models, name, "model")
    return model


def find_endpoint_config(name: str) -> dict[str, Any]:
    config: dict[str, Any] = _find(endpoint_configs, name, "endpoint-config")
    return config


def find_endpoint(name: str) -> Endpoint | ComponentEndpoint:
    endpoint: Endpoint | ComponentEndpoint = _find(endpoints, name, "endpoint")
    return endpoint


def find_component(name: str) -> Component:
    component: Component = _find(components, name, "inference-component")
    return component


def adapters_of(base: str) -> list[Adapter]:
    """The adapters of a component."""
    return [each for each in list(adapters.values()) if each.base.name == base]


def components_on(endpoint: str) -> list[Component]:
    """The components of an endpoint, without adapters."""
    return [each for each in list(components.values()) if each.where["endpoint"] == endpoint]


def refuse_known_name(store: Any, name: str, kind: str) -> None:
    if any(known.lower() == name.lower() for known in store):
        raise InvalidRequestError(f'Cannot create already existing {_words(kind)} "{arn_of(kind, name)}".')


def _find(store: Any, name: str, kind: str) -> Any:
    if name not in store:
        raise InvalidRequestError(f'Could not find {_words(kind)} "{arn_of(kind, name)}".')
    return store[name]


def _words(kind: str) -> str:
    return kind.replace("-config", " configuration").replace("-component", " component")
