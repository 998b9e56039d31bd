"""Slipway puts a large language model behind an HTTP API in your AWS account.

`create_app()` makes the CDK app of a project. `LlmService` is the construct for an app of your own.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_hosting.deployment.model import Deployment
    from llm_hosting.service import LlmService
    from slipway_stacks.app import create_app

__all__ = ["Deployment", "LlmService", "create_app"]
_PLACES = {
    "Deployment": "llm_hosting.deployment.model",
    "LlmService": "llm_hosting.service",
    "create_app": "slipway_stacks.app",
}


def __getattr__(name: str) -> Any:
    """Import a name at its first use: the command line must not wait for the CDK."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name == "LlmService":  # create_app ends the app in one sentence
        from llm_hosting.installed_version import demand_cdk

        demand_cdk()
    return getattr(import_module(_PLACES[name]), name)
