"""Names that are taken: an old resource keeps its name until CloudFormation cleans up at the end of the update."""

from collections.abc import Iterator

from slipway.changes.template.resources import Resource, Resources
from slipway.changes.template.values import shown
from slipway.changes.update.replacement import Update
from slipway.changes.update.schema import schema_of

# The property that names the scope in which a name must be unique, if that is smaller than the account and region.
# Source: the services' API references.
_SCOPES = {"AWS::EC2::SecurityGroup": "VpcId"}


def kept_name(update: Update) -> str:
    """The property by which old and new have one physical name and cannot exist together; '' if none does."""
    kind = update.resource.type
    names = update.schema.physical_names(kind) if update.schema else []
    changed = {each.path[0] for each in update.differences if each.path}
    stays = names and all(name in update.resource.properties for name in names)
    return names[-1] if stays and not changed & {*names, _SCOPES.get(kind)} else ""


def taken_names(
    before: Resources, after: Resources, done: dict[str, Update], region: str
) -> Iterator[tuple[Resource, str, str]]:
    """Each new or replaced resource that takes an existing name, the resource that has the name, and the property."""
    replaced = {name for name, update in done.items() if update.is_replaced or update.may_be_replaced}
    for resource in after.values():
        logical_id = resource.logical_id
        if logical_id in before and logical_id not in replaced:
            continue
        schema = schema_of(resource.type, region)
        names = schema.physical_names(resource.type) if schema else []
        if not names or any(name not in resource.properties for name in names):
            continue
        keys = [*names, _SCOPES.get(resource.type, names[-1])]
        own = [shown(resource.properties.get(key, "")) for key in keys]
        if any("${" + each + suffix in text for each in replaced for suffix in "}." for text in own):
            continue  # the name holds a reference to a new resource
        for other in before.values():
            theirs = [shown(other.properties.get(key, "")) for key in keys]
            if other.type == resource.type and other.logical_id != logical_id and theirs == own:
                yield resource, other.logical_id, names[-1]
                break
