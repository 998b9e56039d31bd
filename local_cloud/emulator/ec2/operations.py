"""The operations that launch, start, stop and end instances, with EC2's states and refusals."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.ec2 import faults, launch
from local_cloud.emulator.ec2 import instance as instances_of
from local_cloud.emulator.ec2.instance import Ec2Instance, check_capacity
from local_cloud.emulator.ec2.refusal import Ec2Error
from local_cloud.emulator.kms.permission import CREATE_GRANT, FOR_AWS, caller_may
from local_cloud.emulator.services import cloudwatch

_ec2 = ministack.internals(
    "ministack.services.ec2",
    "_ACTION_MAP",
    "_instance_xml",
    "_instances",
    "_launch_instances_internal",
    "_p",
    "_parse_lt_data",
    "_parse_member_list",
    "_tags",
    "_volumes",
    "_xml",
)
_app = ministack.internals("ministack.app", "SERVICE_HANDLERS")
_iam_actions = ministack.internals("ministack.core.iam_actions", "access_denied_response")
_iam_evaluator = ministack.internals("ministack.core.iam_evaluator", "AuthError", "enforce")
_router = ministack.internals("ministack.core.router", "extract_access_key_id")
_tagging = ministack.internals("ministack.services.tagging", "_RESOURCE_TAG_COLLECTORS")

Parameters = dict[str, Any]
Answer = ministack.Answer

instances: Any = ministack.scoped_store()
# The states from which an instance can be started or stopped.
_STARTABLE = ("pending", "running", "stopped")
_ON_INSTANCES = ("ec2:StartInstances", "ec2:StopInstances", "ec2:TerminateInstances")
_UTILIZATION_INTERVAL_IN_SECONDS = 300
_STOPPABLE = ("running", "stopping", "stopped")


def run(request: dict[str, Any], count: int = 1) -> list[Ec2Instance]:
    """Launch instances for a request in the API's form. Raises Ec2Error."""
    wanted = launch.resolve(request)
    check_capacity(wanted.instance_type)
    profile = wanted.profile and {"Arn": wanted.profile["Arn"], "Id": wanted.profile["InstanceProfileId"]}
    records = _ec2._launch_instances_internal(
        wanted.image_id, wanted.instance_type, wanted.subnet_id, count, sg_ids=wanted.group_ids, iam_profile=profile
    )
    return [_made(record, wanted) for record in records]


def _made(record: dict[str, Any], wanted: launch.Launch) -> Ec2Instance:
    (mapping,) = record["BlockDeviceMappings"]
    volume = {name: value for name, value in wanted.volume.items() if name != "DeleteOnTermination"}
    _ec2._volumes[mapping["Ebs"]["VolumeId"]].update(volume)
    mapping["Ebs"]["DeleteOnTermination"] = wanted.volume["DeleteOnTermination"]
    record["Architecture"] = wanted.architecture
    if wanted.tags:
        _ec2._tags[record["InstanceId"]] = wanted.tags
    made = instances[record["InstanceId"]] = Ec2Instance(record, wanted)
    return made


def find(instance_id: str) -> Ec2Instance:
    """The instance with this id. Raises Ec2Error."""
    if instance_id not in instances or instance_id not in _ec2._instances:
        raise Ec2Error("InvalidInstanceID.NotFound", f"The instance ID '{instance_id}' does not exist")
    found: Ec2Instance = instances[instance_id]
    return found


def _run_instances(parameters: Parameters) -> Answer:
    request = _ec2._parse_lt_data({f"Given.{name}": value for name, value in parameters.items()}, prefix="Given")
    for name in ("SubnetId", "IamInstanceProfile.Name", "IamInstanceProfile.Arn"):
        if value := _ec2._p(parameters, name):
            request |= {"IamInstanceProfile": {name.rpartition(".")[2]: value}} if "." in name else {name: value}
    template = {
        name: value
        for name in ("LaunchTemplateId", "LaunchTemplateName", "Version")
        if (value := _ec2._p(parameters, f"LaunchTemplate.{name}"))
    }
    least, most = (int(_ec2._p(parameters, name) or 1) for name in ("MinCount", "MaxCount"))
    if least > most:
        raise Ec2Error("InvalidParameterCombination", "MinCount must not exceed MaxCount.")
    made = run(request | {"LaunchTemplate": template}, most)
    items = "".join(_ec2._instance_xml(each.record) for each in made)
    return _answer("RunInstancesResponse", f"<reservationId>r-{made[0].id[2:]}</reservationId>", items)


def _start_instances(parameters: Parameters) -> Answer:
    found = _named(parameters)
    for each in found:
        if each.state not in _STARTABLE:
            raise Ec2Error(
                "IncorrectInstanceState", f"The instance '{each.id}' is not in a state from which it can be started."
            )
    for each in found:
        if each.state == "stopped":
            check_capacity(each.launch.instance_type)
    return _changes("StartInstancesResponse", found, Ec2Instance.start)


def _stop_instances(parameters: Parameters) -> Answer:
    found = _named(parameters)
    for each in found:
        if each.state not in _STOPPABLE:
            raise Ec2Error(
                "IncorrectInstanceState", f"This instance '{each.id}' is not in a state from which it can be stopped."
            )
    return _changes("StopInstancesResponse", found, Ec2Instance.stop)


def _terminate_instances(parameters: Parameters) -> Answer:
    return _changes("TerminateInstancesResponse", _named(parameters), Ec2Instance.terminate)


def _reboot_instances(parameters: Parameters) -> Answer:
    raise Ec2Error("UnsupportedOperation", "The local cloud's instances are stopped and started, not rebooted.")


def _named(parameters: Parameters) -> list[Ec2Instance]:
    ids = _ec2._parse_member_list(parameters, "InstanceId")
    if not ids:
        raise Ec2Error("MissingParameter", "The request must contain the parameter InstanceId")
    return [find(each) for each in ids]


def _changes(root: str, found: list[Ec2Instance], change: Callable[[Ec2Instance], Any]) -> Answer:
    before = [dict(each.record["State"]) for each in found]
    for each in found:
        change(each)
    items = "".join(
        f"<item><instanceId>{each.id}</instanceId>{_state('previousState', old)}"
        f"{_state('currentState', each.record['State'])}</item>"
        for each, old in zip(found, before, strict=True)
    )
    return _answer(root, "", items)


def _state(tag: str, state: dict[str, Any]) -> str:
    return f"<{tag}><code>{state['Code']}</code><name>{state['Name']}</name></{tag}>"


def _answer(root: str, before: str, items: str) -> Answer:
    answer: Answer = _ec2._xml(200, root, f"{before}<instancesSet>{items}</instancesSet>")
    return answer


def _authorizing_each(serve: Any) -> Any:
    """Authorize the caller for each instance of a request, as EC2 does; MiniStack asks for the first one only."""

    async def handle(
        method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
    ) -> ministack.Answer:
        parameters = parse_qs(body.decode()) if body else query
        action = f"ec2:{_ec2._p(parameters, 'Action')}"
        others = _ec2._parse_member_list(parameters, "InstanceId")[1:] if action in _ON_INSTANCES else []
        for instance_id in others:
            if refusal := _refusal(action, _arn(instance_id), headers, query):
                return refusal
        if action == "ec2:StartInstances":
            _look_for_keys(_ec2._parse_member_list(parameters, "InstanceId"), headers, query)
        answer: Answer = await serve(method, path, headers, body, query)
        return answer

    return handle


def _look_for_keys(ids: list[str], headers: dict[str, str], query: dict[str, Any]) -> None:
    """Note whether the caller may let EC2 decrypt the volumes of instances; EC2 refuses no start without it."""
    access_key = _router.extract_access_key_id(headers, query)
    for each in (instances[instance_id] for instance_id in ids if instance_id in instances):
        key = each.launch.volume["KmsKeyId"]
        each.is_decrypted = not key or caller_may(access_key, key, CREATE_GRANT, FOR_AWS)


def _refusal(action: str, resource: str, headers: dict[str, str], query: dict[str, Any]) -> Answer | None:
    key = _router.extract_access_key_id(headers, query)
    denied = _iam_evaluator.enforce(key, action, "ec2", ministack.region(), resource_arn=resource)
    if denied is None or isinstance(denied, _iam_evaluator.AuthError):
        return None
    refusal: Answer = _iam_actions.access_denied_response(
        "ec2", action, denied.principal_arn, "-", headers=headers, resource_arn=resource
    )
    return refusal


def _arn(instance_id: str) -> str:
    return f"arn:aws:ec2:{ministack.region()}:{ministack.account_id()}:instance/{instance_id}"


def _refusing(operation: Callable[[Parameters], Answer]) -> Callable[[Parameters], Answer]:
    def handle(parameters: Parameters) -> Answer:
        try:
            return operation(parameters)
        except Ec2Error as error:
            return error.answer()

    return handle


def _tags_of_instances() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The tags of instances by ARN, for conditions on aws:ResourceTag."""
    for instance_id in _ec2._instances:
        yield _arn(instance_id), _ec2._tags.get(instance_id, [])


def _with_metadata_options(shown: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], str]:
    """DescribeInstances with MetadataOptions, which MiniStack leaves out."""

    def show(record: dict[str, Any]) -> str:
        item = shown(record)
        if record["InstanceId"] not in instances:
            return item
        given = instances[record["InstanceId"]].launch.metadata_options
        options = (
            f"<state>applied</state><httpTokens>{given.get('HttpTokens', 'required')}</httpTokens>"
            f"<httpPutResponseHopLimit>{given.get('HttpPutResponseHopLimit', 1)}</httpPutResponseHopLimit>"
            f"<httpEndpoint>{given.get('HttpEndpoint', 'enabled')}</httpEndpoint>"
        )
        return f"{item.rstrip().removesuffix('</item>')}<metadataOptions>{options}</metadataOptions></item>"

    return show


async def list_machines() -> list[dict[str, Any]]:
    """Describe all instances, off the event loop: each machine is asked for its processes."""
    found = [each for _, _, each in ministack.in_all_scopes(instances) if each.state != "terminated"]
    return [await asyncio.to_thread(each.describe) for each in found]


def _put_utilization() -> None:
    """Record a datum for each machine that runs: basic monitoring has one for five minutes. Its value is made up."""
    for account, region, each in ministack.in_all_scopes(instances):
        if each.state == "running":
            with ministack.scope(account, region):
                cloudwatch.record_metrics("AWS/EC2", {"InstanceId": each.id}, {"CPUUtilization": (1.0, "Percent")})


def power_off_all() -> None:
    for _, _, each in ministack.in_all_scopes(instances):
        each.power_off()


def _set_boot_seconds(request: Any) -> dict[str, float]:
    instances_of.boot_seconds = float(request["boot_seconds"])
    return {"boot_seconds": instances_of.boot_seconds}


def _default_volume_key(parameters: Parameters) -> Answer:
    """The answer to GetEbsDefaultKmsKeyId: AWS's own key."""
    key = f"arn:aws:kms:{ministack.region()}:{ministack.account_id()}:alias/aws/ebs"
    answer: Answer = _ec2._xml(200, "GetEbsDefaultKmsKeyIdResponse", f"<kmsKeyId>{key}</kmsKeyId>")
    return answer


def _offer_every_type(parameters: Parameters) -> Answer:
    """The answer to DescribeInstanceTypeOfferings by zone: each type that is asked for is in every zone."""
    types = [each for name, (each, *_) in parameters.items() if name.startswith("Filter.1.Value.")]
    offered = "".join(
        f"<item><instanceType>{kind}</instanceType><locationType>availability-zone</locationType>"
        f"<location>{ministack.region()}{zone}</location></item>"
        for kind in types
        for zone in "abc"  # MiniStack's zones
    )
    answer: Answer = _ec2._xml(
        200,
        "DescribeInstanceTypeOfferingsResponse",
        f"<instanceTypeOfferingSet>{offered}</instanceTypeOfferingSet>",
    )
    return answer


def install() -> None:
    launch.install()
    faults.install()
    for name, operation in (
        ("RunInstances", _run_instances),
        ("StartInstances", _start_instances),
        ("StopInstances", _stop_instances),
        ("TerminateInstances", _terminate_instances),
        ("RebootInstances", _reboot_instances),
        ("GetEbsDefaultKmsKeyId", _default_volume_key),
        ("DescribeInstanceTypeOfferings", _offer_every_type),
    ):
        _ec2._ACTION_MAP[name] = _refusing(operation)
    _app.SERVICE_HANDLERS["ec2"] = _authorizing_each(_app.SERVICE_HANDLERS["ec2"])
    _ec2._instance_xml = _with_metadata_options(_ec2._instance_xml)
    _tagging._RESOURCE_TAG_COLLECTORS["ec2"] = _tags_of_instances
    clock.repeat(_put_utilization, clock.shortened(_UTILIZATION_INTERVAL_IN_SECONDS))
    ministack.register_view("/_slipway/machines", list_machines)
    ministack.register_command("POST", "/_slipway/machines", _set_boot_seconds)
