"""Instance types that a parameter may choose, because the rest of the template is the same for them."""

from typing import Any

from ...catalog.instances import types_for
from ...dashboard.expressions import shown_price
from ...deployment.model import Deployment
from ...preflight.validation import errors_of_type
from ...resolution import Resolution, resolve
from ...resolution.estimates import wake_in_seconds


def exchangeable_types(resolution: Resolution) -> tuple[str, ...]:
    """Return the types with which the deployment passes its checks and has the same template; its own type is first.

    Empty for a deployment with instance pools.
    """
    deployment = resolution.deployment
    if len(deployment.hosting.instance_types) > 1:
        return ()
    own, wanted = deployment.hosting.instance_types[0], _in_template(resolution)
    others = (
        resolve(_with_type(deployment, name))
        for name in types_for(on_machines=deployment.hosting.runs_on_machines)
        if name != own
    )
    fitting = (each for each in others if _in_template(each) == wanted and not errors_of_type(each))
    return (own, *sorted(each.deployment.hosting.instance_types[0] for each in fitting))


def _with_type(deployment: Deployment, name: str) -> Deployment:
    hosting = deployment.hosting.model_copy(update={"instance_type": name})
    return deployment.model_copy(update={"hosting": hosting})


def _in_template(resolution: Resolution) -> tuple[Any, ...]:
    """Return everything that constructs and functions read of a resolution beside its deployment."""
    placement, on_machine = resolution.placements[0], resolution.deployment.hosting.runs_on_machines
    return (
        placement.instance.kind,  # an image serves on one kind only
        *(resolution.image, resolution.version, resolution.inference_ami_version),
        *(resolution.environment, resolution.properties),
        *(resolution.bodies, resolution.parameters, resolution.container.model_aliases),
        placement.disk_in_gb if on_machine else None,
        # A dashboard shows no money without a price.
        shown_price(placement.instance) is None if resolution.deployment.operations.dashboard else None,
        (resolution.component_copy, wake_in_seconds(placement).likely)
        if resolution.deployment.uses_components
        else None,
    )
