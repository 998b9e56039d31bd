"""The parameters of a deployment's portable template: everything that may differ between its targets."""

from collections.abc import Iterator

from ...deployment.settings.hosting import Hosting
from ...deployment.settings.model import Model
from ...deployment.settings.security import Security
from ...deployment.settings.vpc import Vpc
from ...resolution import Resolution
from ..editing.conditions import ACCESS_LOGS, ENDPOINT, leave_out_access_logs, leave_out_endpoint
from ..editing.places import Place, Template, in_statements, in_texts, walk
from . import api_access
from . import hosting as hosting_parameters
from . import operating as operating_parameters
from . import weights as weights_parameters
from .parameter import Parameter, switch

_ACCOUNT = "[0-9]{12}"


def parameters_of(resolution: Resolution, template: Template) -> list[Parameter]:
    """Return the parameters that have a place in the template, in the order in which they are inserted."""
    found = [
        *hosting_parameters.parameters(resolution),
        *weights_parameters.parameters(resolution),
        *_of_account(resolution),
        *operating_parameters.parameters(resolution.deployment),
        *api_access.parameters(resolution.deployment),
        *_switches(resolution),
    ]
    return [each for each in found if each.stands_in is None or _holds(template, each.stands_in)]


def _of_account(resolution: Resolution) -> Iterator[Parameter]:
    """Return the parameters of what an account owns, most of it in one region."""
    model, hosting = resolution.deployment.model, resolution.deployment.hosting
    yield from _keys(model, hosting, resolution.deployment.security)
    if given := hosting.reserved_capacity_arn:
        reservation = rf"^arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:{_ACCOUNT}:[a-z0-9-]{{1,14}}/.+$"
        described = "Reserved capacity in which all instances start, in the account and region of the stack."
        yield _owned("ReservedCapacityArn", given, described, reservation)
    if given := model.hub_token_secret_arn:
        secret = rf"^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:{_ACCOUNT}:secret:[A-Za-z0-9/_+=.@-]+$"
        yield _owned("HubTokenSecretArn", given, "Secret with a token of the Hugging Face Hub.", secret)
    if vpc := resolution.deployment.security.vpc:
        yield from _of_network(vpc, hosting)


def _of_network(vpc: Vpc, hosting: Hosting) -> Iterator[Parameter]:
    if vpc.vpc_id is None:
        return
    who = "machines" if hosting.runs_on_machines else "containers"
    way = ", with a way to the internet by NAT or a transit gateway" if hosting.runs_on_machines else ""
    yield _owned("VpcId", vpc.vpc_id, f"VPC of the {who}.", "^vpc-[0-9a-f]{8,17}$")
    several = (
        ("SubnetId", vpc.subnet_ids, f"Subnet of {who}, in VpcId{way}.", "subnet"),
        ("SecurityGroupId", vpc.security_group_ids, f"Security group of {who} and functions, in VpcId.", "sg"),
        ("RouteTableId", vpc.route_table_ids, "Route table of subnets, for the endpoints of S3 and DynamoDB.", "rtb"),
    )
    for name, ids, described, kind in several:
        for number, each in enumerate(dict.fromkeys(ids), start=1):
            yield _owned(f"{name}{number}", each, described, f"^{kind}-[0-9a-f]{{8,17}}$")


def _keys(model: Model, hosting: Hosting, security: Security) -> Iterator[Parameter]:
    """Return the parameters of keys. A key for data that encrypts something else, too, is one parameter."""
    key = rf"^arn:[a-z-]+:kms:[a-z0-9-]+:{_ACCOUNT}:key/[A-Za-z0-9_-]+$"
    data, volumes, logs = security.kms_key_arn, hosting.volume_kms_key_arn, security.log_kms_key_arn
    here = "in the region of the stack."
    if (given := model.weights_kms_key_arn) and given != data:
        place = in_statements("kms:Decrypt", given, {"Ref": "WeightsKeyArn"})  # the volume may have the same key
        yield _owned(
            "WeightsKeyArn", given, "KMS key that encrypts the weights, in the region of their bucket.", key, place
        )
    if data:
        yield _owned("DataKeyArn", data, f"KMS key that encrypts data, {here}", key)
    if volumes and volumes != data:
        yield _owned("VolumeKeyArn", volumes, f"KMS key that encrypts the volumes, {here}", key)
    if logs and logs not in (data, volumes):
        yield _owned("LogKeyArn", logs, f"KMS key that encrypts logs, {here}", key)


def _owned(name: str, own: str, description: str, pattern: str, place: Place | None = None) -> Parameter:
    places = (place or in_texts(own, {"Ref": name}),)
    return Parameter(name, "String", description, own=own, pattern=pattern, stands_in=own, places=places)


def _switches(resolution: Resolution) -> Iterator[Parameter]:
    yield switch(
        "DeployEndpoint",
        "true: makes the endpoint, or the machines, which bill by the hour and need a quota for their type. false: all "
        "but that, for an account without the quota; the API then answers 503 endpoint_not_deployed.",
        leave_out_endpoint,
        ENDPOINT,
    )
    if resolution.deployment.writes_access_log:
        yield switch(
            "ApiAccessLogs",
            "true: one log line per request, without prompts; needs the stack slipway-account-settings in the account "
            "and region. false: none.",
            leave_out_access_logs,
            ACCESS_LOGS,
        )


def archive_parameter() -> Parameter:
    """Return the parameter of the archive buckets, for a template that needs archives."""
    return Parameter(
        "ArchiveBucketPrefix",
        "String",
        "Objects that this deployment starts from lie in the buckets <prefix>-<region>: one in each region, readable "
        "for the accounts of the targets.",
        pattern="^[a-z0-9][a-z0-9.-]{1,45}$",
    )


def _holds(template: Template, text: str) -> bool:
    return any(isinstance(each, str) and text in each for each in walk(template["Resources"]))
