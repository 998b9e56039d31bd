"""Compares two templates and tells what the update from one to the other means."""

from collections.abc import Iterator
from typing import Any

from slipway.changes.access.callers import ADMITTING, readmitting, refusals
from slipway.changes.access.permissions import widened
from slipway.changes.beside_resources import beside_the_resources
from slipway.changes.change import RENAMED, Change, rank
from slipway.changes.exposure.doors import opened
from slipway.changes.template.branches import with_both_branches
from slipway.changes.template.resources import RETAINING, Resource, Resources, resources_of
from slipway.changes.template.values import shown
from slipway.changes.update.comparison import Difference
from slipway.changes.update.component_update import component_updates
from slipway.changes.update.data_loss import lost_settings
from slipway.changes.update.endpoint_update import endpoint_updates
from slipway.changes.update.interruption import interruptions
from slipway.changes.update.physical_names import kept_name, taken_names
from slipway.changes.update.price import usd_per_hour
from slipway.changes.update.replacement import Update, updates
from slipway.changes.update.schema import BILLED_BY_THE_HOUR, stateful_types
from slipway.changes.update.wording import quiet, said_of

_API = "AWS::ApiGateway::RestApi"
_TEMPLATES = {"TemplateURL", "TemplateBody"}  # properties of resources that create stacks


def classify(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    before_values: dict[str, str] | None = None,
    after_values: dict[str, str] | None = None,
    region: str = "us-east-1",
    start_in_seconds: float | None = None,
) -> list[Change]:
    """The changes of an update, worst first; [] if nothing changes.

    before, after: parsed templates. before_values, after_values: parameters by name; others have their defaults.
    region: the one with the resource types. start_in_seconds: the usual start-up time of an endpoint's instances.
    """
    old = resources_of(before, before_values or {}, region)
    new = resources_of(after, after_values or {}, region)
    found = [*_found(old, new, region, start_in_seconds), *beside_the_resources(before, after)]
    once = _without_repeated_routes(found, readmitting(with_both_branches(old), with_both_branches(new)))
    return sorted(dict.fromkeys(once), key=rank)


def _without_repeated_routes(found: list[Change], apis: dict[str, str]) -> Iterator[Change]:
    """The changes without routes that a change of their API includes. apis: logical ids by route."""
    told = {each.logical_id for each in found if each.kind in ("callers-refused", "public-exposure")}
    for each in found:
        if each.kind != "nothing" or each.property not in ADMITTING or apis.get(each.logical_id) not in told:
            yield each


def _found(old: Resources, new: Resources, region: str, start_in_seconds: float | None) -> Iterator[Change]:
    done = updates(old, new, region)
    compared = (old, new, done, start_in_seconds)
    renamed = _renamed(old, new)
    for name, resource in old.items():
        if name not in new:
            yield from _removed(resource, renamed.get(name), old)
        elif new[name].type != resource.type:
            yield _change(
                resource,
                "retyped",
                "Type",
                f"{resource.type} -> {new[name].type}: CloudFormation refuses another type under the same logical id; "
                "give the new resource another id",
                gated=True,
            )
    for name, resource in new.items():
        if name not in old:
            yield from _added(resource, renamed, new)
        elif old[name].type == resource.type:
            yield from _beside_the_properties(old[name], resource, known=name in done)
    for name, update in done.items():
        yield from _updated(old[name], update)
    for name in sorted(old.keys() & new.keys()):
        if old[name].type == new[name].type:
            yield from _price_moved(old, new, name)
            for path, said in lost_settings(old[name], new[name], stateful=_is_stateful(old[name].type)):
                yield _change(new[name], "data-loss", path, said)
    for effect in (*endpoint_updates(*compared), *component_updates(*compared)):
        stops = effect.kind == "refused"
        yield _change(new[effect.logical_id], effect.kind, effect.path, effect.sentence, gated=stops)
    for resource, owner, name in taken_names(old, new, done, region):
        said = f"{name} is that of {owner}, which keeps it until the end of the update: the name is taken"
        yield _change(resource, "refused", name, said, gated=True)
    possible = with_both_branches(old), with_both_branches(new)
    for lost in refusals(*possible, [name for name, update in done.items() if update.is_replaced]):
        resource = new.get(lost.logical_id) or old[lost.logical_id]
        yield _change(resource, "callers-refused", lost.property, lost.sentence, gated=True)
    for each in widened(*possible):
        yield _change(each.resource, "permission-widened", each.property, each.sentence, gated=True)
    for door in opened(*possible):
        yield _change(new[door.logical_id], "public-exposure", door.property, door.sentence, gated=True)


def _change(resource: Resource, kind: str, path: str, sentence: str, *, gated: bool = False) -> Change:
    return Change(resource.logical_id, resource.type, kind, path, sentence, gated)


def _is_stateful(resource_type: str) -> bool:
    return resource_type in stateful_types()


def _matters(resource_type: str) -> bool:
    """Whether the type holds data or is billed by the hour."""
    return _is_stateful(resource_type) or resource_type in BILLED_BY_THE_HOUR


def _removed(resource: Resource, new_name: str | None, old: Resources) -> Iterator[Change]:
    policy = resource.deletion_policy
    said = "is deleted after a snapshot (DeletionPolicy Snapshot)" if policy == "Snapshot" else "is deleted"
    if policy in RETAINING:
        said = f"leaves the stack and stays behind (DeletionPolicy {policy}), with its data and its bill"
    if new_name:
        said += (
            f"; {new_name} is new with the same properties: {RENAMED}, which CloudFormation handles as two resources"
        )
    price = usd_per_hour(resource, old)
    if price:
        said += f"; about {price:.2f} USD an hour less"
    yield _change(resource, "removed", "", said, gated=_matters(resource.type))
    if _is_stateful(resource.type) and policy == "Delete":
        yield _change(resource, "data-loss", "", _lost(resource, "removed"))


def _lost(resource: Resource, how: str) -> str:
    if resource.type == "AWS::S3::Bucket":
        return f"{how} without a policy that retains its objects (CloudFormation deletes it once it is empty)"
    return f"{how} without a policy that retains its data"


def _added(resource: Resource, renamed: dict[str, str], new: Resources) -> Iterator[Change]:
    old_name = next((old for old, name in renamed.items() if name == resource.logical_id), None)
    said = f"new, with the properties of {old_name}, which goes" if old_name else "new"
    yield _change(resource, "added", "", said)
    price = usd_per_hour(resource, new)
    if price and not old_name:
        yield _change(resource, "price", "", f"new, about {price:.2f} USD an hour")


def _renamed(old: Resources, new: Resources) -> dict[str, str]:
    """The likely renames, old logical id -> new one: one resource goes, and one with equal properties comes."""
    gone = [resource for name, resource in old.items() if name not in new and resource.properties]
    added = [resource for name, resource in new.items() if name not in old]
    found = {}
    for resource in gone:
        same = [each for each in added if (each.type, each.properties) == (resource.type, resource.properties)]
        alike = [each for each in gone if (each.type, each.properties) == (resource.type, resource.properties)]
        if len(same) == 1 and len(alike) == 1:
            found[resource.logical_id] = same[0].logical_id
    return found


def _beside_the_properties(before: Resource, after: Resource, *, known: bool) -> Iterator[Change]:
    if before.condition != after.condition and after.condition is not None:
        said = "only AWS knows its condition: it is deleted if the condition is false"
        yield _change(after, "removed", "Condition", said, gated=_matters(after.type))
    keys = ("Metadata", "CreationPolicy", "UpdatePolicy", "DependsOn")
    changed = [key for key in keys if before.attributes.get(key) != after.attributes.get(key)]
    for key in ("deletion_policy", "replace_policy"):
        if getattr(before, key) != getattr(after, key):
            changed.append({"deletion_policy": "DeletionPolicy", "replace_policy": "UpdateReplacePolicy"}[key])
    if changed and not known:
        yield _change(after, "nothing", ", ".join(changed), "nothing changes on AWS")


def _updated(before: Resource, update: Update) -> Iterator[Change]:
    resource = update.resource
    for each in _first_of_a_name(update.refused):
        # Under another logical id the new one would come while the old one still has the name.
        fix = "destroy the stack and deploy it again" if kept_name(update) else "give the resource another logical id"
        said = f"{said_of(each, update)}: CloudFormation refuses to update it; {fix}"
        yield _change(resource, "refused", each.name, said, gated=True)
    if update.schema is None:
        if not update.refused:
            yield _unknown(update)
        return
    gated = _matters(resource.type)
    for each in _first_of_a_name(update.replacing):
        yield _change(
            resource, "replaced", each.name, f"{said_of(each, update)}: {_replaced(before, update)}", gated=gated
        )
    if update.may_be_replaced:
        for each in _first_of_a_name(update.maybe_replacing):
            said = f"{said_of(each, update)}: may be replaced; the template does not show whether"
            if name := kept_name(update):
                said += f", and CloudFormation would refuse that, because {name} stays the same"
            yield _change(resource, "may-be-replaced", each.name, said, gated=gated)
    if (
        (update.is_replaced or update.may_be_replaced)
        and _is_stateful(resource.type)
        and not _is_kept(before, resource)
    ):
        how = "replaced" if update.is_replaced else "where it is replaced,"
        yield _change(resource, "data-loss", "", _lost(resource, how))
    if update.is_replaced:
        if name := kept_name(update):
            said = f"{name} stays {shown(resource.properties[name])} and the resource is replaced: the name is taken"
            yield _change(resource, "refused", name, f"{said} by the old one; change it, too", gated=True)
    else:
        yield from _in_place(update)


def _replaced(before: Resource, update: Update) -> str:
    if before.replace_policy == update.resource.replace_policy and before.replace_policy != "Delete":
        kept = {"Snapshot": "the old one is deleted after a snapshot"}.get(before.replace_policy, "the old one stays")
        return f"replaced; {kept} (UpdateReplacePolicy {before.replace_policy})"
    return "replaced by a new one, then deleted"


def _is_kept(before: Resource, after: Resource) -> bool:
    keeping = (*RETAINING, "Snapshot")
    return before.replace_policy in keeping and after.replace_policy in keeping


def _unknown(update: Update) -> Change:
    names = ", ".join(dict.fromkeys(each.name or "Properties" for each in update.differences))
    resource = update.resource
    said = f"{names} changed; no schema tells the effect: the provider decides, also about a replacement"
    return _change(resource, "unknown", names, said)


def _in_place(update: Update) -> Iterator[Change]:
    resource, schema = update.resource, update.schema
    interrupted = dict(interruptions(resource, update.differences))
    for path, said in interrupted.items():
        yield _change(resource, "interruption", path, said)
    for each in _first_of_a_name(update.in_place):
        if each.name in interrupted:
            continue
        if schema and each.path in schema.read_only:
            said = "only AWS sets this property: CloudFormation refuses or ignores it"
            yield _change(resource, "unknown", each.name, said)
        elif resource.type == _API and each.path[0] in ("Body", "BodyS3Location"):
            said = f"{each.path[0]} changes: it holds the methods and who may call them"
            yield _change(resource, "unknown", each.name, said)
        elif each.path[0] in _TEMPLATES or (each.path[0] == "Parameters" and resource.properties.keys() & _TEMPLATES):
            yield _change(resource, "unknown", each.name, f"{each.name} changes: compare the templates of its stacks")
        elif schema and not schema.knows(each.path):
            yield _change(resource, "unknown", each.name, f"{said_of(each, update)}: not in the schema of the type")
        else:
            yield _change(resource, "nothing", each.name, quiet(each, update))


def _first_of_a_name(found: list[Difference]) -> list[Difference]:
    first: dict[str, Difference] = {}
    for each in found:
        first.setdefault(each.name, each)
    return list(first.values())


def _usd(price: float | None) -> str:
    return "(not in the catalog)" if price is None else f"{price:.2f}"


def _price_moved(old: Resources, new: Resources, name: str) -> Iterator[Change]:
    before, after = usd_per_hour(old[name], old), usd_per_hour(new[name], new)
    if before != after:
        said = f"about {_usd(before)} -> {_usd(after)} USD an hour"
        yield _change(new[name], "price", "InstanceType", said)
