"""The client of the deployment's endpoint, made by its settings."""

from botocore.config import Config

from inference_api.model import deployed_engine
from inference_api.model.endpoint_client import EndpointClient, Waker
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import settings, sleeps


def deployed_endpoint(config: Config) -> EndpointClient:
    """Return a client of the model's endpoint. config: of its calls, such as `one_call()`."""
    deployed = settings()
    return EndpointClient(
        runtime().client("sagemaker-runtime", config),
        deployed.endpoint_name,
        clock=runtime().now,
        on_end=deployed_engine.count_call,
        component=deployed.inference_component,
        adapters=deployed.component_adapters,
        names=deployed.model_names,
        waker=_waker(),
    )


def _waker() -> Waker | None:
    if not sleeps():
        return None
    from inference_api.wake.parts import waker  # functions of a model that never sleeps start faster without it

    return waker()
