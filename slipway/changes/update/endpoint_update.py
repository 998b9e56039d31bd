"""An update of a SageMaker endpoint: what SageMaker refuses, and which new instances start beside the old ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from slipway.changes.template.resources import Resource, Resources, values_at
from slipway.changes.template.values import as_list, logical_id_in, number, shown
from slipway.changes.update.price import usd_per_hour, usd_per_instance
from slipway.changes.update.replacement import Update
from slipway.changes.update.rollout import Rollout, rollout_of

_ENDPOINT, _TARGET = "AWS::SageMaker::Endpoint", "AWS::ApplicationAutoScaling::ScalableTarget"
_OF_UPDATES = ("DeploymentConfig", "ExcludeRetainedVariantProperties", "RetainAllVariantProperties")


class Effect(NamedTuple):
    """One thing that an update does to an endpoint."""

    logical_id: str
    kind: str
    path: str
    sentence: str


@dataclass(frozen=True)
class _Variant:
    """A production variant.

    types: instance types, best first. least, most: instances; None if only AWS knows. is_scaled: by a scalable target.
    is_managed: SageMaker itself runs the instances that inference components need.
    """

    types: tuple[str, ...]
    least: int | None
    most: int | None
    is_scaled: bool
    is_managed: bool = False

    def __str__(self) -> str:
        counts = [str(each) for each in dict.fromkeys((self.least, self.most)) if each is not None]
        return f"{' to '.join(counts) or 'some'} {' or '.join(self.types)}"

    @property
    def most_usd_per_hour(self) -> float | None:
        """The price of the maximum count of the dearest type."""
        prices = [usd_per_instance(each) for each in self.types]
        if self.most is None or not prices or None in prices:
            return None
        return self.most * max(each for each in prices if each is not None)


def endpoint_updates(
    old: Resources, new: Resources, updates: Mapping[str, Update], start_in_seconds: float | None
) -> Iterator[Effect]:
    """Every effect on an endpoint. start_in_seconds: the usual start-up time; None if it is not known."""
    for name in [each for each in old if each in new and old[each].type == new[each].type == _ENDPOINT]:
        before, after = _variants(old[name], old), _variants(new[name], new)
        changed = {each.path[0] for each in updates[name].differences if each.path} if name in updates else set()
        if "EndpointConfigName" in changed:
            refusals = [*_refusals(name, old, new, before, after), *_batch_refusal(name, before, new[name])]
            rollout = rollout_of(new[name])
            most = max((each.most or 1 for each in after.values()), default=1)
            said = _beside(name, old, new, before, after, rollout) + rollout.minutes(most, start_in_seconds)
            yield from refusals or [Effect(name, "new-instances", "EndpointConfigName", said)]
        elif alone := [each for each in _OF_UPDATES if each in changed]:
            # API reference of UpdateEndpoint: "To update an endpoint, you must create a new EndpointConfig."
            said = (
                f"{', '.join(alone)} changes and the configuration does not: SageMaker needs a new one for each update"
            )
            yield Effect(name, "refused", alone[0], said)
        yield from _most(name, before, after)


def _refusals(
    name: str, old: Resources, new: Resources, before: dict[str, _Variant], after: dict[str, _Variant]
) -> Iterator[Effect]:
    for variant, was in before.items():
        types = after[variant].types if variant in after else ()
        if was.is_scaled and was.types != types:
            said = (
                f"InstanceType {' or '.join(was.types)} -> {' or '.join(types) or '(absent)'}: SageMaker refuses that "
                "while the variant is a scalable target; deploy a fixed count with the old type first (equal "
                "numbers in instance_count), then the new type and the range"
            )
            yield Effect(name, "refused", "InstanceType", said)
    # "The AsyncInferenceConfig parameter cannot be removed from this endpoint": sagemaker-python-sdk #3124.
    if len({"AsyncInferenceConfig" in each.properties for each in _configurations(name, old, new)}) > 1:
        said = (
            "AsyncInferenceConfig is added or removed: SageMaker refuses that for an existing endpoint; "
            "destroy it first"
        )
        yield Effect(name, "refused", "AsyncInferenceConfig", said)


def _batch_refusal(name: str, before: dict[str, _Variant], endpoint: Resource) -> Iterator[Effect]:
    rollout = rollout_of(endpoint)
    for each in before.values():
        wrong = [count for count in (each.least, each.most) if count and not rollout.takes(count)]
        if wrong:
            said = (
                f"batches of {rollout.batch} are not 5 to 50 % of the {wrong[0]} instance(s) that may run now, which "
                "SageMaker asks for; deploy the new number with rollout: all-at-once first"
            )
            yield Effect(name, "refused", "DeploymentConfig", said)


def _beside(
    name: str, old: Resources, new: Resources, before: dict[str, _Variant], after: dict[str, _Variant], rollout: Rollout
) -> str:
    """The instances, quotas and price while old and new instances run side by side."""
    if not before or not after:
        return "new instances start beside those that run"
    if rollout.batch:
        return _in_batches(before, after, rollout.batch)
    said = f"{_sum(after)} beside {_sum(before)}, quotas for both: {_quotas(before, after)}"
    if any(each.is_managed and not each.least for each in after.values()):
        said += "; at zero the update starts an instance, which bills until SageMaker releases it"
    if rollout.share:
        said += f"; the new ones get {rollout.share} % of the requests first"
    prices = [usd_per_hour(each, {}) for each in _configurations(name, old, new)]
    dearest = [each.most_usd_per_hour for variants in (before, after) for each in variants.values()]
    if None in prices or None in dearest:
        return f"{said}; the catalog lacks the price of one of them"
    least, most = (f"{sum(each or 0 for each in found):.2f}" for found in (prices, dearest))
    price = least if least == most else f"{least} to {most}"  # a range where the count scales, or with several types
    return f"{said}; about {price} USD an hour while both run"


def _in_batches(before: dict[str, _Variant], after: dict[str, _Variant], batch: int) -> str:
    """The instances, quotas and price while a batch of new instances runs beside those that it replaces."""
    new = {kind for each in after.values() for kind in each.types}
    needed: dict[str, int] = {}
    for each in (*before.values(), *after.values()):
        for kind in each.types:
            most = (each.most or 1) + (batch if kind in new else 0)
            needed[kind] = max(needed.get(kind, 0), most)
    said = f"{_sum(after)} in place of {_sum(before)}, {batch} at a time, quotas for a batch more: {_shown(needed)}"
    spare = [usd_per_instance(kind) for kind in new]
    if None in spare:
        return f"{said}; the catalog lacks the price of one of them"
    dearest = max(price for price in spare if price is not None)
    return f"{said}; about {batch * dearest:.2f} USD an hour more meanwhile"


def _sum(variants: dict[str, _Variant]) -> str:
    return " and ".join(map(str, variants.values()))


def _quotas(before: dict[str, _Variant], after: dict[str, _Variant]) -> str:
    """The quota of each instance type: the most instances of it that may run at once."""
    needed: dict[str, int] = {}
    for variants in (before, after):
        for each in variants.values():
            for kind in each.types:
                needed[kind] = needed.get(kind, 0) + (each.most or 1)
    return _shown(needed)


def _shown(quotas: dict[str, int]) -> str:
    return ", ".join(f"{count} of '{kind} for endpoint usage'" for kind, count in quotas.items())


def _most(name: str, before: dict[str, _Variant], after: dict[str, _Variant]) -> Iterator[Effect]:
    """The highest price of an endpoint that scales, if it changes."""
    if not any(each.is_scaled for each in [*before.values(), *after.values()]):
        return
    one, other = ([each.most_usd_per_hour for each in variants.values()] for variants in (before, after))
    if None in one or None in other:
        return
    was, is_now = (sum(each for each in prices if each is not None) for prices in (one, other))
    if was != is_now:
        yield Effect(name, "price", "MaxCapacity", f"scaled out at most about {was:.2f} -> {is_now:.2f} USD an hour")


def _configurations(name: str, old: Resources, new: Resources) -> list[Resource]:
    """The endpoint's configurations before and after, if the templates hold them."""
    return [found for each in (old, new) if (found := _configuration(each[name], each))]


def _configuration(endpoint: Resource, resources: Resources) -> Resource | None:
    """The endpoint's configuration; None if the template does not hold it."""
    return resources.get(logical_id_in(shown(endpoint.properties.get("EndpointConfigName", ""))))


def _variants(endpoint: Resource, resources: Resources) -> dict[str, _Variant]:
    """The endpoint's variants by name; empty if only AWS knows them."""
    configuration = _configuration(endpoint, resources)
    names = {shown(endpoint.properties.get("EndpointName", "")), "${" + endpoint.logical_id + ".EndpointName}"}
    targets = {
        shown(each.properties.get("ResourceId", "")): each for each in resources.values() if each.type == _TARGET
    }
    found = {}
    for each in values_at(configuration.properties, ["ProductionVariants", "*"]) if configuration else []:
        if isinstance(each, dict) and "ServerlessConfig" not in each:
            ids = [f"endpoint/{name}/variant/{shown(each.get('VariantName', ''))}" for name in names]
            target = next((targets[one] for one in ids if one in targets), None)
            found[shown(each.get("VariantName", ""))] = _variant(each, target)
    return found


def _variant(properties: dict[str, Any], target: Resource | None) -> _Variant:
    pools = values_at(properties, ["InstancePools", "*", "InstanceType"])
    types = tuple(map(shown, pools or as_list(properties.get("InstanceType", []))))
    if managed := properties.get("ManagedInstanceScaling"):
        least, most = (number(managed.get(each)) for each in ("MinInstanceCount", "MaxInstanceCount"))
        return _Variant(types, least, most, is_scaled=False, is_managed=True)
    count = number(properties.get("InitialInstanceCount"))
    if target is None:
        return _Variant(types, count, count, is_scaled=False)
    least, most = (number(target.properties.get(each)) for each in ("MinCapacity", "MaxCapacity"))
    return _Variant(types, least, most, is_scaled=True)
