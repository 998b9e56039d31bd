"""Names of resources on AWS: an old one keeps its name until the end of an update, when CloudFormation cleans up."""

from collections.abc import Iterator

from slipway.changes.template.resources import Resource
from slipway.changes.template.values import shown
from slipway.changes.update.replacement import Update
from slipway.changes.update.schema import schema_of

Resources = dict[str, Resource]

# Within which a name is the only one, where that is less than the account and region and the schema does not say it.
# Source: the services' API references.
_SCOPES = {"AWS::EC2::SecurityGroup": "VpcId"}


def kept_name(update: Update) -> str:
    """The property with a physical name that stays, so that old and new cannot stand side by side; '' = none."""
    kind = update.resource.type
    names = update.schema.physical_names(kind) if update.schema else []
    changed = {each.path[0] for each in update.differences if each.path}
    stays = names and all(name in update.resource.properties for name in names)
    return names[-1] if stays and not changed & {*names, _SCOPES.get(kind)} else ""


def taken_names(
    before: Resources, after: Resources, done: dict[str, Update], region: str
) -> Iterator[tuple[Resource, str, str]]:
    """Each resource that is new or replaced and has the name of another one before: with the other and the property."""
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
            continue  # it follows a reference to something new
        for other in before.values():
            theirs = [shown(other.properties.get(key, "")) for key in keys]
            if other.type == resource.type and other.logical_id != logical_id and theirs == own:
                yield resource, other.logical_id, names[-1]
                break
