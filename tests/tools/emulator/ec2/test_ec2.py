"""Instances of the local cloud: states, user data, services, metadata, permissions, and what EC2 refuses."""

import base64
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud, free_port
from local_cloud.interpreters import start
from local_cloud.network import put_network
from support.patience import wait_for
from support.stacks.machines import IMAGE, forget_faults, machine, machines, order_fault, wait_for_state
from support.stacks.small_stacks import REGION, Resources, StackFailedError, arn, create, delete, resource, statement

SERVICE = """
cat > $SLIPWAY_HOME/{name}.service <<END
[Unit]
SuccessAction=poweroff
[Service]
ExecStart=/bin/bash -c 'echo started >> $SLIPWAY_HOME/starts; {command}'
Restart=on-failure
RestartSec=30
[Install]
WantedBy=multi-user.target
END
systemctl link $SLIPWAY_HOME/{name}.service
systemctl enable {name}.service
systemctl start {name}.service
"""
BUCKET = "machines-in-tests"
HOME = "mkdir -p $SLIPWAY_HOME; cd $SLIPWAY_HOME; echo ran >> user-data-runs\n"


@pytest.fixture(scope="module")
def cloud(bare_cloud: LocalCloud) -> Iterator[LocalCloud]:
    boot_takes(bare_cloud, 0)
    yield bare_cloud
    boot_takes(bare_cloud, 1)
    forget_faults(bare_cloud)


@pytest.fixture
def ec2(cloud: LocalCloud) -> Any:
    return cloud.client("ec2", region=REGION)


def boot_takes(cloud: LocalCloud, seconds: float) -> None:
    requests.post(f"{cloud.url}/_slipway/machines", json={"boot_seconds": seconds}, timeout=60).raise_for_status()


def home(cloud: LocalCloud, instance_id: str) -> Path:
    return Path(machines(cloud)[instance_id]["disk"]) / "opt/slipway"


def written(path: Path) -> str:
    """Wait for a file that a process of the machine writes; returns its text."""
    return wait_for(lambda: path.read_text() if path.exists() and path.stat().st_size else None, str(path))


def pid_of(cloud: LocalCloud, instance_id: str, service: str) -> int:
    def look() -> int | None:
        found: dict[str, int] = machines(cloud)[instance_id]["services"]
        return found.get(service)

    return wait_for(look, f"the process of {service}")


def state(ec2: Any, instance_id: str) -> str:
    (reservation,) = ec2.describe_instances(InstanceIds=[instance_id])["Reservations"]
    return str(reservation["Instances"][0]["State"]["Name"])


def refusal(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def test_an_instance_goes_through_ec2s_states(cloud: LocalCloud, ec2: Any) -> None:
    machine_id = create(cloud, "states", machine("sleep 1000"))["Machine"]
    assert state(ec2, machine_id) == "running"
    assert ec2.start_instances(InstanceIds=[machine_id])["StartingInstances"][0]["CurrentState"]["Name"] == "running"
    pid = machines(cloud)[machine_id]["pid"]
    os.kill(pid, signal.SIGSTOP)  # the machine does not stop at once
    stopping = ec2.stop_instances(InstanceIds=[machine_id])["StoppingInstances"][0]
    assert (stopping["PreviousState"]["Name"], stopping["CurrentState"]["Name"]) == ("running", "stopping")
    with pytest.raises(ClientError) as refused:
        ec2.start_instances(InstanceIds=[machine_id])
    assert refusal(refused) == "IncorrectInstanceState"
    os.kill(pid, signal.SIGCONT)
    wait_for_state(cloud, machine_id, "stopped")
    boot_takes(cloud, 60)
    assert ec2.start_instances(InstanceIds=[machine_id])["StartingInstances"][0]["CurrentState"]["Name"] == "pending"
    with pytest.raises(ClientError) as refused:
        ec2.stop_instances(InstanceIds=[machine_id])
    assert refusal(refused) == "IncorrectInstanceState"
    cloud.advance(60)
    assert state(ec2, machine_id) == "running"
    boot_takes(cloud, 0)
    ec2.terminate_instances(InstanceIds=[machine_id])
    wait_for_state(cloud, machine_id, "terminated")
    with pytest.raises(ClientError) as refused:
        ec2.start_instances(InstanceIds=[machine_id])
    assert refusal(refused) == "IncorrectInstanceState"


def test_user_data_runs_once_and_later_boots_start_what_is_enabled(cloud: LocalCloud, ec2: Any) -> None:
    script = HOME + SERVICE.format(name="lasting", command="exec sleep 1000")
    machine_id = create(cloud, "once", machine(script))["Machine"]
    folder = home(cloud, machine_id)
    pid_of(cloud, machine_id, "lasting")
    ec2.stop_instances(InstanceIds=[machine_id])
    wait_for_state(cloud, machine_id, "stopped")
    assert written(folder / "starts") == "started\n"
    ec2.start_instances(InstanceIds=[machine_id])
    wait_for(lambda: (folder / "starts").read_text() == "started\n" * 2 or None, "the second start")
    assert (folder / "user-data-runs").read_text() == "ran\n"
    delete(cloud, "once")
    assert not folder.exists()


def test_a_killed_service_starts_again_and_a_clean_end_powers_off(cloud: LocalCloud) -> None:
    script = HOME + SERVICE.format(name="worker", command="while [ ! -e done ]; do sleep 0.05; done")
    machine_id = create(cloud, "services", machine(script))["Machine"]
    folder = home(cloud, machine_id)
    written(folder / "starts")

    def runs() -> bool | None:
        return True if "worker" in machines(cloud)[machine_id]["services"] else None

    def runs_again() -> bool | None:
        cloud.advance(30)
        return runs()

    os.kill(pid_of(cloud, machine_id, "worker"), signal.SIGKILL)
    wait_for(lambda: None if runs() else True, "its end")
    assert (folder / "starts").read_text() == "started\n"
    wait_for(runs_again, "its next start")
    wait_for(lambda: (folder / "starts").read_text() == "started\n" * 2 or None, "the second start")
    (folder.parents[1] / "done").touch()
    wait_for_state(cloud, machine_id, "stopped")


def test_a_machine_that_is_to_terminate_at_its_shutdown_does(cloud: LocalCloud) -> None:
    parts = machine("shutdown -h now", InstanceInitiatedShutdownBehavior="terminate")
    wait_for_state(cloud, create(cloud, "ends", parts)["Machine"], "terminated")


def test_a_killed_machine_has_stopped_and_none_of_its_processes_is_left(cloud: LocalCloud) -> None:
    script = HOME + SERVICE.format(name="lasting", command="exec sleep 1000")
    machine_id = create(cloud, "killed", machine(script))["Machine"]
    service = psutil.Process(pid_of(cloud, machine_id, "lasting"))
    os.kill(machines(cloud)[machine_id]["pid"], signal.SIGKILL)
    wait_for_state(cloud, machine_id, "stopped")
    assert psutil.wait_procs([service], timeout=60)[1] == []


def test_no_process_outlives_a_killed_emulator() -> None:
    with LocalCloud(port=free_port()) as own:
        own.wait_until_ready()
        machine_id = create(own, "alone", machine(HOME + SERVICE.format(name="lasting", command="exec sleep 1000")))[
            "Machine"
        ]
        pid_of(own, machine_id, "lasting")
        emulator = psutil.Process(own._process.pid)
        family = emulator.children(recursive=True)
        emulator.kill()
        assert psutil.wait_procs(family, timeout=60)[1] == []


def test_an_advance_waits_for_a_process_that_sleeps(cloud: LocalCloud) -> None:
    loop = "import time; [print(round(time.time()), flush=True) or time.sleep(10) for _ in range(1000)]"
    script = f"{HOME}dnf install -y python3.11; python3.11 -c '{loop}' >times"
    folder = home(cloud, create(cloud, "sleeper", machine(script))["Machine"])
    written(folder / "times")
    before = len((folder / "times").read_text().split())
    cloud.advance(1000)
    times = [int(each) for each in (folder / "times").read_text().split()]
    assert len(times) >= before + 99
    assert times[-1] - times[0] == pytest.approx(10 * (len(times) - 1), abs=20)


def test_metadata_needs_a_token_and_holds_the_roles_credentials(cloud: LocalCloud) -> None:
    script = f"""{HOME}
url=$AWS_EC2_METADATA_SERVICE_ENDPOINT/latest
status() {{ curl -s -o /dev/null -w '%{{http_code}} ' "$@"; }}
status $url/meta-data/instance-id
status -X PUT $url/api/token
status -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' -H 'X-Forwarded-For: 10.0.0.1' $url/api/token
token=$(curl -s -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $url/api/token)
status -H "X-aws-ec2-metadata-token: nobody's" $url/meta-data/instance-id
curl -s -H "X-aws-ec2-metadata-token: $token" $url/meta-data/instance-id
echo
aws s3 cp s3://{BUCKET}/known known && cat known
aws s3 cp s3://{BUCKET}/secret secret || echo refused
echo the end"""
    s3 = cloud.client("s3", region=REGION)
    s3.create_bucket(Bucket=BUCKET)
    for key in ("known", "secret"):
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"to all\n")
    parts = machine(
        f"({script}) >$SLIPWAY_HOME-said 2>&1", statements=[statement("s3:GetObject", f"arn:aws:s3:::{BUCKET}/known")]
    )
    machine_id = create(cloud, "metadata", parts)["Machine"]
    path = home(cloud, machine_id).with_name("slipway-said")
    said = wait_for(lambda: path.read_text() if path.exists() and "the end" in path.read_text() else None, "its words")
    first, *others = said.splitlines()
    assert first == f"401 400 403 401 {machine_id}"
    assert "to all" in others
    assert "refused" in others
    assert "Forbidden" in said


def test_a_role_that_does_not_trust_ec2_gives_no_credentials(cloud: LocalCloud) -> None:
    parts = machine(f"aws s3 cp s3://{BUCKET}/known x 2>out; mv out $SLIPWAY_HOME-said")
    parts["Role"]["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]["Service"] = (
        "lambda.amazonaws.com"
    )
    machine_id = create(cloud, "untrusted", parts)["Machine"]
    assert "Unable to locate credentials" in written(home(cloud, machine_id).with_name("slipway-said"))


@pytest.mark.parametrize("lacking", ["route", "rule"])
def test_a_machine_without_a_way_out_reaches_nothing(cloud: LocalCloud, lacking: str) -> None:
    rule = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "0.0.0.0/0"}
    closed = {"IpProtocol": "tcp", "FromPort": 80, "ToPort": 80, "CidrIp": "0.0.0.0/0"}
    network: Resources = {
        "Group": resource(
            "EC2::SecurityGroup",
            {"GroupDescription": "-", "SecurityGroupEgress": [closed if lacking == "rule" else rule]},
        )
    }
    interface = {"DeviceIndex": 0, "AssociatePublicIpAddress": lacking == "rule", "Groups": [{"Ref": "Group"}]}
    parts = machine(f"aws s3 cp s3://{BUCKET}/known x 2>out; mv out $SLIPWAY_HOME-said", NetworkInterfaces=[interface])
    created = create(cloud, f"no-{lacking}", network | parts)
    assert "127.0.0.1:9" in written(home(cloud, created["Machine"]).with_name("slipway-said"))
    assert online(cloud) & {created["Machine"]} == set()


def test_a_network_that_the_user_names_can_be_created(cloud: LocalCloud) -> None:
    put_network(cloud, "vpc-0a1b2c3d", ["subnet-0a1b2c3d"], REGION)
    group = resource("EC2::SecurityGroup", {"GroupDescription": "-", "VpcId": "vpc-0a1b2c3d"})
    interface = {"DeviceIndex": 0, "SubnetId": "subnet-0a1b2c3d", "Groups": [{"Ref": "Group"}]}
    parts = machine("true", NetworkInterfaces=[interface]) | {"Group": group}
    machine_id = create(cloud, "named", parts)["Machine"]
    wait_for(lambda: machine_id in online(cloud) or None, "the agent, without a public address")


def test_starting_follows_a_condition_on_the_tags_of_each_instance(cloud: LocalCloud, ec2: Any) -> None:
    ours = create(cloud, "ours", machine("true", tags={"owner": "ours"}))["Machine"]
    theirs = create(cloud, "theirs", machine("true", tags={"owner": "theirs"}))["Machine"]
    allowed = statement(
        "ec2:StartInstances", arn("ec2", "instance/*"), Condition={"StringEquals": {"aws:ResourceTag/owner": "ours"}}
    )
    caller = cloud.client("ec2", region=REGION, credentials=cloud.create_user("starter", [allowed]))
    caller.start_instances(InstanceIds=[ours])
    for named in ([theirs], [ours, theirs]):
        with pytest.raises(ClientError) as refused:
            caller.start_instances(InstanceIds=named)
        assert refusal(refused) == "UnauthorizedOperation"
    filters = [{"Name": "tag:owner", "Values": ["ours"]}, {"Name": "instance-state-name", "Values": ["running"]}]
    (found,) = ec2.describe_instances(Filters=filters)["Reservations"]
    assert found["Instances"][0]["InstanceId"] == ours


def online(cloud: LocalCloud) -> set[str]:
    found = cloud.client("ssm", region=REGION).describe_instance_information()["InstanceInformationList"]
    return {each["InstanceId"] for each in found if each["PingStatus"] == "Online"}


def test_an_operators_command_runs_on_a_machine_that_is_online_and_on_no_other(cloud: LocalCloud, ec2: Any) -> None:
    ssm = cloud.client("ssm", region=REGION)
    machine_id = create(cloud, "managed", machine(f"{HOME}echo here >place"))["Machine"]
    wait_for(lambda: machine_id in online(cloud) or None, "the agent")
    command = {"DocumentName": "AWS-RunShellScript", "Parameters": {"commands": ["cat $SLIPWAY_HOME/place; exit 3"]}}
    sent = ssm.send_command(InstanceIds=[machine_id], **command)["Command"]["CommandId"]

    def ended() -> dict[str, Any] | None:
        found: dict[str, Any] = ssm.get_command_invocation(CommandId=sent, InstanceId=machine_id)
        return found if found["Status"] not in ("Pending", "InProgress") else None

    result = wait_for(ended, "the command")
    assert (result["Status"], result["ResponseCode"], result["StandardOutputContent"]) == ("Failed", 3, "here\n")
    ec2.stop_instances(InstanceIds=[machine_id])
    with pytest.raises(ClientError) as refused:
        ssm.send_command(InstanceIds=[machine_id], **command)
    assert refusal(refused) == "InvalidInstanceId"
    assert machine_id not in online(cloud)


def test_an_agent_without_permission_is_not_online(cloud: LocalCloud) -> None:
    parts = machine(f"{HOME}sleep 0")
    del parts["Role"]["Properties"]["Policies"]
    parts["Other"] = machine("true")["Machine"]
    created = create(cloud, "unmanaged", parts)
    written(home(cloud, created["Machine"]) / "user-data-runs")
    assert online(cloud) & {created["Machine"], created["Other"]} == set()


def test_the_log_agent_ships_what_its_configuration_names(cloud: LocalCloud) -> None:
    configuration = """{"logs": {"logs_collected": {"files": {"collect_list": [{"file_path": "'$SLIPWAY_HOME'/a.log",
        "log_group_name": "/machines", "log_stream_name": "{instance_id}/a"}]}}}}"""
    script = f"""{HOME}
dnf install -y amazon-cloudwatch-agent
echo '{configuration}' >agent.json
amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c file:$SLIPWAY_HOME/agent.json
echo one line >>a.log"""
    parts = machine(script) | {"Group": resource("Logs::LogGroup", {"LogGroupName": "/machines"})}
    machine_id = create(cloud, "logs", parts)["Machine"]
    logs = cloud.client("logs", region=REGION)

    def shipped() -> list[Any] | None:
        return logs.filter_log_events(logGroupName="/machines")["events"] or None

    (event,) = wait_for(shipped, "the line")
    assert (event["logStreamName"], event["message"]) == (f"{machine_id}/a", "one line")


def waited_for(script: str, timeout: int = 60) -> Resources:
    """A machine that must report the result of its set-up to CloudFormation, at $URL."""
    parts = machine("true") | {
        "Handle": resource("CloudFormation::WaitConditionHandle"),
        "SetUp": resource(
            "CloudFormation::WaitCondition",
            {"Handle": {"Ref": "Handle"}, "Timeout": str(timeout), "Count": 1},
            DependsOn="Machine",
        ),
    }
    data = parts["Template"]["Properties"]["LaunchTemplateData"]
    lines = ["#!/bin/bash\nURL='", {"Ref": "Handle"}, f"'\n{script}\n"]
    data["UserData"] = {"Fn::Base64": {"Fn::Join": ["", lines]}}
    return parts


SIGNAL = """curl -sS -X PUT -H 'Content-Type:' -d '{"Status":"%s","Reason":"%s","UniqueId":"1","Data":"-"}' "$URL"\n"""
SUCCESS, FAILURE = SIGNAL % ("SUCCESS", "-"), SIGNAL % ("FAILURE", "no such model")


def test_a_stack_waits_for_the_signal_of_its_machine(cloud: LocalCloud) -> None:
    create(cloud, "signalled", waited_for(f"dnf install -y nothing && {SUCCESS}"))
    with pytest.raises(StackFailedError, match="no such model"):
        create(cloud, "failed", waited_for(FAILURE))


def test_a_failure_elsewhere_ends_the_wait(cloud: LocalCloud) -> None:
    cloud.client("logs", region=REGION).create_log_group(logGroupName="/taken")
    broken = resource("Logs::LogGroup", {"LogGroupName": "/taken"}, DependsOn="Machine")
    with pytest.raises(StackFailedError) as failed:
        create(cloud, "beside", waited_for("true", timeout=43_200) | {"Broken": broken})
    assert "Resource creation cancelled" in failed.value.reasons


def test_a_command_fails_as_ordered(cloud: LocalCloud) -> None:
    order_fault(cloud, "command_fails", command="dnf")
    with pytest.raises(StackFailedError, match="no such model"):
        create(cloud, "ordered", waited_for(f"dnf install -y nothing || {FAILURE}"))


def test_a_boot_that_hangs_runs_nothing_and_the_stack_fails_when_its_time_is_over(cloud: LocalCloud) -> None:
    order_fault(cloud, "boot_hangs")
    cloudformation = cloud.client("cloudformation", region=REGION)
    with ThreadPoolExecutor(1) as executor:
        creating = executor.submit(create, cloud, "hangs", waited_for(SUCCESS, timeout=900))

        def waits() -> bool | None:
            events = cloudformation.describe_stack_events(StackName="hangs")["StackEvents"]
            return any(each["LogicalResourceId"] == "SetUp" for each in events) or None

        wait_for(lambda: stack_is_known(cloud, "hangs"), "the stack")
        wait_for(waits, "the wait")
        assert "running" in {each["state"] for each in machines(cloud).values()}
        cloud.advance(900)
        with pytest.raises(StackFailedError, match="WaitCondition timed out"):
            creating.result()


def stack_is_known(cloud: LocalCloud, name: str) -> bool | None:
    pages = cloud.client("cloudformation", region=REGION).get_paginator("describe_stacks").paginate()
    return any(stack["StackName"] == name for page in pages for stack in page["Stacks"]) or None


def test_timeout_ends_a_command_that_stays_with_the_machines_processes() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = start.command("local_cloud.machine.commands", "timeout", "-k", "10", *arguments)
        return subprocess.run(program, capture_output=True, text=True)

    assert run("0.1", "tail", "-f", "/dev/null").returncode == 124
    ended = run("60", sys.executable, "-c", "import os, sys; print(os.getpgrp()); sys.exit(3)")
    assert (ended.returncode, int(ended.stdout)) == (3, os.getpgrp())


def test_without_capacity_nothing_is_launched_or_started(cloud: LocalCloud, ec2: Any) -> None:
    machine_id = create(cloud, "lucky", machine("true"))["Machine"]
    ec2.stop_instances(InstanceIds=[machine_id])
    wait_for_state(cloud, machine_id, "stopped")
    order_fault(cloud, "no_capacity", count=20)  # the SDK retries
    with pytest.raises(StackFailedError, match="InsufficientInstanceCapacity"):
        create(cloud, "unlucky", machine("true"))
    with pytest.raises(ClientError) as refused:
        ec2.start_instances(InstanceIds=[machine_id])
    assert refusal(refused) == "InsufficientInstanceCapacity"
    assert state(ec2, machine_id) == "stopped"
    forget_faults(cloud)
    ec2.start_instances(InstanceIds=[machine_id])
    wait_for_state(cloud, machine_id, "running")


TOO_LONG = base64.b64encode(b"#!/bin/bash\n" + b"#" * 16_384).decode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"UserData": "#!/bin/bash"}, "Invalid BASE64 encoding of user data"),
        ({"UserData": TOO_LONG}, "User data is limited to 16384 bytes"),
        ({"InstanceType": "c8g.xlarge"}, "The architecture of the instance type c8g.xlarge does not match"),
        ({"ImageId": IMAGE.replace("x86_64", "sparc")}, "can't be resolved"),
        ({"ImageId": "al2023"}, "InvalidAMIID.Malformed"),
        ({"IamInstanceProfile": {"Name": "nobody"}}, "Invalid IAM Instance Profile"),
        ({"SecurityGroupIds": ["sg-00000001"]}, "InvalidParameterCombination"),
        ({"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": "subnet-0"}]}, "InvalidSubnetID.NotFound"),
        ({"NetworkInterfaces": [{"DeviceIndex": 0, "Groups": [{"Ref": "Group"}]}]}, "belong to different networks"),
        ({"BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 4}}]}, "expect size >= 8GB"),
    ],
)
def test_what_ec2_refuses_fails_the_stack(cloud: LocalCloud, data: dict[str, Any], said: str) -> None:
    other: Resources = {
        "Vpc": resource("EC2::VPC", {"CidrBlock": "10.9.0.0/24"}),
        "Group": resource("EC2::SecurityGroup", {"GroupDescription": "-", "VpcId": {"Ref": "Vpc"}}),
    }
    with pytest.raises(StackFailedError, match=said):
        create(cloud, f"refused-{abs(hash(said))}", other | machine("true", **data))


def test_a_version_of_a_template_that_does_not_exist_is_refused(cloud: LocalCloud) -> None:
    parts = machine("true")
    parts["Machine"]["Properties"]["LaunchTemplate"]["Version"] = "7"
    with pytest.raises(StackFailedError, match=r"InvalidLaunchTemplateId\.VersionNotFound"):
        create(cloud, "version", parts)


def test_run_instances_launches_by_template(cloud: LocalCloud, ec2: Any) -> None:
    template = create(cloud, "template", machine(f"{HOME}true"))["Template"]
    made = ec2.run_instances(LaunchTemplate={"LaunchTemplateId": template}, MinCount=2, MaxCount=2)["Instances"]
    assert {each["InstanceType"] for each in made} == {"c5.xlarge"}
    shown = ec2.describe_instances(InstanceIds=[made[0]["InstanceId"]])["Reservations"][0]["Instances"][0]
    tags = {tag["Key"]: tag["Value"] for tag in shown["Tags"]}
    assert tags == {"aws:ec2launchtemplate:id": template, "aws:ec2launchtemplate:version": "1"}
    options = shown["MetadataOptions"]
    assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 1)
    for each in made:
        written(home(cloud, each["InstanceId"]) / "user-data-runs")
    ec2.terminate_instances(InstanceIds=[each["InstanceId"] for each in made])
    for each in made:
        wait_for_state(cloud, each["InstanceId"], "terminated")
