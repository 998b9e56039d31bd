"""Updates of inference components: new copies, models that wake, and models that move to another kind of endpoint."""

import math
from collections.abc import Iterator, Mapping

from llm_hosting.catalog.instances import instances
from llm_hosting.resolution.estimates import INSTANCE_AND_IMAGE_IN_SECONDS
from slipway.changes.template.resources import Resource, Resources, values_at
from slipway.changes.template.values import logical_id_in, number, shown
from slipway.changes.update.endpoint_update import Effect
from slipway.changes.update.price import usd_per_hour
from slipway.changes.update.replacement import Update
from slipway.changes.update.rollout import rollout_of

_COMPONENT, _ENDPOINT = "AWS::SageMaker::InferenceComponent", "AWS::SageMaker::Endpoint"
_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
_STARTS_COPIES = ("Specification", "Specifications", "RuntimeConfig", "DeploymentConfig")
_BASE = ["Specification", "BaseInferenceComponentName"]  # an adapter has one, and no copies of its own
_MINUTE = 60


def component_updates(
    old: Resources, new: Resources, updates: Mapping[str, Update], start_in_seconds: float | None
) -> Iterator[Effect]:
    """Every effect on components. start_in_seconds: the usual start-up time; None if it is not known."""
    yield from _moves(old, new, start_in_seconds)
    for name, update in updates.items():
        changed = dict.fromkeys(each.path[0] for each in update.differences if each.path)
        if update.resource.type == _COMPONENT and not values_at(update.resource.properties, _BASE):
            starting = [each for each in _STARTS_COPIES if each in changed]
            yield from _batch_refusal(old[name], update.resource, old) if starting else ()
            yield from _new_copies(update.resource, starting, new)
        if update.resource.type == _TARGET and "ScheduledActions" in changed:
            hours = [_hours(each[name]) for each in (old, new)]
            said = f"instances always run {hours[0]} -> {hours[1]}; that holds from the next of these times on"
            yield Effect(name, "price", "ScheduledActions", said)
        elif update.resource.type == _TARGET and values_at(update.resource.properties, ["ScheduledActions", "*"]):
            said = "the hours in which instances always run hold again from the next of their times on"
            yield Effect(name, "price", next(iter(changed), ""), said)


def _new_copies(component: Resource, changed: list[str], resources: Resources) -> Iterator[Effect]:
    if not changed:
        return
    batch = rollout_of(component).batch
    at_a_time = f"{batch} at a time, " if batch else ""
    said = f"new copies start beside those that run, {at_a_time}on another instance where no accelerator is free"
    said += _quota(component, batch, resources)
    if _may_be_at_zero(component, resources):
        # The properties of a resource are sent together, and the handler of the type knows no current count.
        copies = shown(next(iter(values_at(component.properties, ["RuntimeConfig", "CopyCount"])), ""))
        said += (
            f"; the update sends CopyCount {copies} again, so a model that sleeps wakes and bills until it sleeps again"
        )
    yield Effect(component.logical_id, "new-instances", changed[0], said)


def _batch_refusal(before: Resource, component: Resource, old: Resources) -> Iterator[Effect]:
    rollout = rollout_of(component)
    target = _target_of(before, old)
    counts = [number(target.properties.get(each)) for each in ("MinCapacity", "MaxCapacity")] if target else []
    counts = counts or [number(next(iter(values_at(before.properties, ["RuntimeConfig", "CopyCount"])), None))]
    wrong = [count for count in counts if count and not rollout.takes(count)]
    if wrong:
        said = (
            f"batches of {rollout.batch} are not 5 to 50 % of the {wrong[0]} copies that may run now, which SageMaker "
            "asks for; deploy the new number with rollout: all-at-once first"
        )
        yield Effect(component.logical_id, "refused", "DeploymentConfig", said)


def _quota(component: Resource, batch: int | None, resources: Resources) -> str:
    """Return the quota for the most instances that may run during the update; "" on the endpoint of another stack."""
    for configuration in resources.values():
        for variant in values_at(configuration.properties, ["ProductionVariants", "*"]):
            kind = shown(variant.get("InstanceType", ""))
            most = number(next(iter(values_at(variant, ["ManagedInstanceScaling", "MaxInstanceCount"])), None))
            if most and kind in instances():
                return f", quota: {most + _spare(component, batch, most, kind)} of '{kind} for endpoint usage'"
    return ""


def _spare(component: Resource, batch: int | None, most: int, kind: str) -> int:
    """Return how many instances the new copies may need beside the largest number of those that run."""
    path = ["Specification", "ComputeResourceRequirements", "NumberOfAcceleratorDevicesRequired"]
    takes = number(next(iter(values_at(component.properties, path)), None)) or 0
    on_each = instances()[kind].accelerator_count // takes if takes else 1
    return math.ceil(batch / max(1, on_each)) if batch else most


def _may_be_at_zero(component: Resource, resources: Resources) -> bool:
    target = _target_of(component, resources)
    return target is not None and shown(target.properties.get("MinCapacity", "")) == "0"


def _target_of(component: Resource, resources: Resources) -> Resource | None:
    scaled = f"inference-component/{shown(component.properties.get('InferenceComponentName', ''))}"
    targets = (each for each in resources.values() if each.type == _TARGET)
    return next((each for each in targets if shown(each.properties.get("ResourceId", "")) == scaled), None)


def _moves(old: Resources, new: Resources, start_in_seconds: float | None) -> Iterator[Effect]:
    """Yield what callers meet while a model moves between an endpoint of its own and an inference component."""
    had, has = ([name for name, each in one.items() if each.type == _COMPONENT] for one in (old, new))
    gone, come = (
        [each for name, each in one.items() if each.type == _ENDPOINT and name not in other]
        for one, other in ((old, new), (new, old))
    )
    if bool(had) == bool(has) or max(len(gone), len(come)) > 1 or not (had or gone) or not (has or come):
        return
    way = "gets a new endpoint without components"
    if has:
        way = f"becomes an inference component of a {'new' if come else 'shared'} endpoint"
    minutes = ""
    if start_in_seconds:
        minutes = f" (about {round((INSTANCE_AND_IMAGE_IN_SECONDS + start_in_seconds) / _MINUTE)} minutes)"
    said = (
        f"the model {way}, to which the functions change before it starts: callers get 503 endpoint_not_ready, and "
        f"jobs wait, until it answers{minutes}"
    )
    if gone:
        said += f"; {gone[0].logical_id} runs until the end of the update"
    if gone and come:
        said += ", so both need a quota"
        prices = [_price(endpoint, resources) for endpoint, resources in ((gone[0], old), (come[0], new))]
        if None not in prices:
            said += f" and bill, together about {sum(each or 0 for each in prices):.2f} USD an hour"
    if had:
        said += (
            "; the component's log group stays behind, and `slipway purge` must remove it before the model is a "
            "component again"
        )
    yield Effect(come[0].logical_id if come else has[0], "interruption", "EndpointName", said)


def _price(endpoint: Resource, resources: Resources) -> float | None:
    configuration = resources.get(logical_id_in(shown(endpoint.properties.get("EndpointConfigName", ""))))
    return usd_per_hour(configuration, resources) if configuration else None


def _hours(target: Resource) -> str:
    actions = values_at(target.properties, ["ScheduledActions", "*"])
    times = [
        f"{shown(each.get('Schedule', ''))} {shown(each.get('Timezone', ''))}" for each in actions if "Schedule" in each
    ]
    return f"from {' to '.join(times)}" if times else "at no hours"
