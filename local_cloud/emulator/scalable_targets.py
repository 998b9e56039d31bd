"""The registered scalable targets: Application Auto Scaling fills them, SageMaker looks at them."""

from typing import Any

from local_cloud.emulator import hooks

targets: Any = hooks.scoped_store()
policies: Any = hooks.scoped_store()


def variant_is_scaled(endpoint: str, variant: str) -> bool:
    return _resource_id(endpoint, variant) in targets


def forget_variant(endpoint: str, variant: str) -> None:
    """Drop the variant's target and its policies."""
    resource_id = _resource_id(endpoint, variant)
    targets.pop(resource_id, None)
    for key in [key for key in policies if key[0] == resource_id]:
        policies.pop(key)


def _resource_id(endpoint: str, variant: str) -> str:
    return f"endpoint/{endpoint}/variant/{variant}"
