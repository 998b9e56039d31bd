"""The ways out of what a template makes: what functions, containers and machines may reach, and who is told."""

from collections.abc import Iterator

from slipway.changes.template.resources import Resources, values_at
from slipway.changes.template.values import as_list, logical_id_in, shown
from slipway.evidence.evidence import Door, RoleEvidence
from slipway.evidence.names import listed, plain, short
from slipway.evidence.ports import ports_of

_ALARMS = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")


def ways_out(resources: Resources, roles: tuple[RoleEvidence, ...]) -> tuple[Door, ...]:
    """Return what functions, containers and machines may reach."""
    found = [*_functions(resources, roles), *_containers(resources), *_ports(resources), *_notices(resources)]
    return tuple(dict.fromkeys(sorted(found, key=lambda each: (each.kind, each.where, each.sentence))))


def _functions(resources: Resources, roles: tuple[RoleEvidence, ...]) -> Iterator[Door]:
    by_name = {each.name: each for each in roles}
    for each in resources.values():
        if each.type != "AWS::Lambda::Function":
            continue
        role = by_name.get(short(logical_id_in(shown(each.properties.get("Role")))))
        services = {action.split(":")[0] for one in role.permissions for action in one.actions} if role else set()
        inside = bool(values_at(each.properties, ["VpcConfig", "SubnetIds"]))
        network = (
            "what its subnets and security groups let through"
            if inside
            else "outside of VPCs: no network rule of yours applies"
        )
        may = f"its role may call {listed(sorted(services))}" if services else "its role may call nothing"
        asks = values_at(each.properties, ["Environment", "Variables", "TOKEN_RULES"])
        issuer = "; it asks the issuer of tokens for its keys" if asks else ""
        yield Door("function", short(each.logical_id), f"{may}{issuer}; {network}")


def _containers(resources: Resources) -> Iterator[Door]:
    for each in resources.values():
        if each.type == "AWS::SageMaker::Model":
            if each.properties.get("EnableNetworkIsolation") == "true":
                said = "nothing: the container has no network"
            elif each.properties.get("VpcConfig"):
                said = "what the subnets and security groups of its VPC let through"
            else:
                said = "the internet, to load its model, and AWS"
            yield Door("container", short(each.logical_id), said)
        if each.type == "AWS::CodeBuild::Project":
            yield Door("build project", short(each.logical_id), "the Hub and AWS, while it copies weights")


def _ports(resources: Resources) -> Iterator[Door]:
    for each in resources.values():
        for said, target in ports_of(each, "Egress"):
            yield Door("security group", short(each.logical_id), f"{said}, to {target}")


def _notices(resources: Resources) -> Iterator[Door]:
    """Yield the targets outside the template to which alarms and rules send notices."""
    for each in resources.values():
        actions = [plain(shown(one)) for one in as_list(each.properties.get("AlarmActions", []))]
        for target in actions if each.type in _ALARMS else []:
            if target.startswith("arn:"):
                yield Door("alarms", target, "is told when an alarm starts and ends")
