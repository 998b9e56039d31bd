"""hosting.mode ec2 by real HTTP: the published requests, a machine's sleep and its waking, and what goes wrong."""

import json
import os
import signal
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy, destroy
from slipway.measuring.figures.results import read
from support.command import Command
from support.patience import wait_for
from support.repository import ROOT
from support.stacks.canary import KEPT, Canary
from support.stacks.deployed_stacks import deployed, edited, resource_ids
from support.stacks.machines import forget_faults, machines, order_fault, wait_for_state
from support.templates.template_parts import Template

# The request that people sent to the published service.
PUBLISHED = {"prompt": "Hello there", "num_samples": 2, "length": 12, "temperature": 0.7, "top_p": 0.9, "top_n": 40}
IDLE_MINUTES = 5
STARTUP_TIMEOUT_IN_SECONDS = 900


def sleeps_early(template: Template) -> None:
    """Let machines sleep after five idle minutes: the shipped thirty would take half of this module's time."""
    text = json.dumps(template).replace("IDLE_MINUTES=30", f"IDLE_MINUTES={IDLE_MINUTES}")
    template.update(json.loads(text.replace('"IDLE_MINUTES": "30"', f'"IDLE_MINUTES": "{IDLE_MINUTES}"')))


@pytest.fixture(scope="module")
def stack(stacks: dict[str, Stack], tmp_path_factory: pytest.TempPathFactory) -> Stack:
    return edited(stacks["gpt2-ec2"], tmp_path_factory.mktemp("ec2"), sleeps_early, "machines")


@pytest.fixture(scope="module")
def api(cloud: LocalCloud, stack: Stack) -> ApiClient:
    return deployed(cloud, stack)


@pytest.fixture(scope="module")
def instance(cloud: LocalCloud, stack: Stack, api: ApiClient) -> str:
    (found,) = resource_ids(cloud, stack, "AWS::EC2::Instance")
    return found


@pytest.fixture(autouse=True)
def no_faults(cloud: LocalCloud) -> Iterator[None]:
    yield
    forget_faults(cloud)


def services(cloud: LocalCloud, instance: str) -> dict[str, int]:
    """Return the processes of the machine's services."""
    found: dict[str, int] = machines(cloud)[instance]["services"]
    return found


def submitted(api: ApiClient) -> dict[str, Any]:
    status, headers, job = api.call("POST", "/jobs", PUBLISHED)
    assert status == 202
    assert headers["location"] == f"jobs/{job['id']}"
    assert int(headers["retry-after"]) >= 1
    found: dict[str, Any] = job
    return found


def status_of(api: ApiClient, job: dict[str, Any]) -> str:
    return str(api.call("GET", f"/jobs/{job['id']}")[2]["status"])


def opened_stream(api: ApiClient) -> HTTPResponse:
    """Open the stream of a POST /generate."""
    body = json.dumps(PUBLISHED | {"stream": True}).encode()
    return api.open("POST", "/generate", body, {"content-type": "application/json"})


def job_that_runs(api: ApiClient) -> dict[str, Any]:
    job = submitted(api)
    wait_for(lambda: status_of(api, job) == "running" or None, "the attempt")
    return job


def endpoint(api: ApiClient) -> dict[str, Any]:
    status, _, found = api.call("GET", "/endpoint")
    assert status == 200
    described: dict[str, Any] = found
    return described


def assert_answered(api: ApiClient, job: dict[str, Any]) -> None:
    # Without ?wait=: it polls less often the longer a job has run by the cloud's clock.
    wait_for(lambda: status_of(api, job) not in ("queued", "running") or None, "its end")
    found = api.call("GET", f"/jobs/{job['id']}")[2]
    assert found["status"] == "succeeded", found
    assert len(found["output"]) == PUBLISHED["num_samples"]


def wake(api: ApiClient) -> None:
    """Submit a job and wait for its answer, so that the machine is awake."""
    assert_answered(api, submitted(api))


def put_to_sleep(cloud: LocalCloud, instance: str) -> None:
    cloud.advance(IDLE_MINUTES * 60)

    def asleep() -> bool | None:
        cloud.advance(20)  # each of its last two polls of the queue takes 20 s
        return machines(cloud)[instance]["state"] == "stopped" or None

    wait_for(asleep, "its end")
    cloud.advance(120)


def held(cloud: LocalCloud, instance: str) -> int:
    """Stop the process of the model until it gets SIGCONT, and return its id."""
    model = services(cloud, instance)["slipway-model"]
    os.kill(model, signal.SIGSTOP)
    return model


def test_what_callers_of_a_machine_write_is_in_no_log(cloud: LocalCloud, api: ApiClient) -> None:
    canary = Canary(cloud, api.region, "canary-on-machine")
    assert_answered(api, api.call("POST", "/jobs", PUBLISHED | {"prompt": "canary-on-machine"})[2])
    places = canary.places()
    assert "file input" in places
    assert places - KEPT == set()


def test_the_published_request_is_answered_by_a_model_that_stays_loaded(
    cloud: LocalCloud, api: ApiClient, instance: str
) -> None:
    before = services(cloud, instance)
    assert set(before) == {"amazon-cloudwatch-agent", "slipway-model", "slipway-worker"}
    status, _, answer = api.call("POST", "/generate", PUBLISHED)
    assert status == 200
    assert [list(each) for each in answer] == [["generated_text"], ["generated_text"]]
    assert answer[0]["generated_text"] != answer[1]["generated_text"]
    assert all(len(each["generated_text"].split()) == PUBLISHED["length"] for each in answer)
    assert_answered(api, submitted(api))
    assert services(cloud, instance) == before
    found = endpoint(api)
    assert (found["status"], found["mode"], found["invocation_url"]) == ("InService", "ec2", None)
    assert found["start"]["since"] is None


def test_verify_passes_after_a_good_deploy(
    cloud: LocalCloud, stack: Stack, api: ApiClient, instance: str, slipway: Command
) -> None:
    outcome = slipway("verify", stack.name)
    assert (outcome.status, outcome.stderr) == (0, ""), outcome.stdout
    checks = {line[8:24].strip(): line[24:] for line in outcome.stdout.splitlines()}
    assert checks["machines"] == f"1 of 1: {instance} is running"
    assert checks["configuration"] == "c5.xlarge, by the stack's launch template"
    assert checks["access"] == "IMDSv2 only, no inbound rule, no key pair, encrypted disks"
    assert checks["workers"].startswith(f"{instance} is ")
    assert checks["SSM agent"] == f"Online on {instance}"
    assert checks["POST /generate"] == "200"
    assert checks["POST /jobs"].endswith(" is succeeded")


def test_a_machine_changed_by_hand_is_found(cloud: LocalCloud, stack: Stack, instance: str, slipway: Command) -> None:
    ec2 = cloud.client("ec2", region=stack.region)
    (group,) = resource_ids(cloud, stack, "AWS::EC2::SecurityGroup")
    way_in = {"GroupId": group, "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "0.0.0.0/0"}
    ec2.authorize_security_group_ingress(**way_in)
    template = ec2.describe_launch_templates()["LaunchTemplates"][0]["LaunchTemplateId"]
    copied = [{"Key": "slipway:deployment", "Value": stack.name}, {"Key": "slipway:machine", "Value": "0"}]
    more = {"TagSpecifications": [{"ResourceType": "instance", "Tags": copied}], "MinCount": 1, "MaxCount": 1}
    (other,) = ec2.run_instances(LaunchTemplate={"LaunchTemplateId": template}, **more)["Instances"]
    outcome = slipway("verify", stack.name)
    ec2.terminate_instances(InstanceIds=[other["InstanceId"]])
    ec2.revoke_security_group_ingress(**way_in)
    assert outcome.status == 1
    failed = [line[8:24].strip() for line in outcome.stdout.splitlines() if line.startswith("FAILED")]
    assert failed == ["access", "still billing"]
    assert f"{group} of {instance} lets connections in" in outcome.stdout
    assert f"aws ec2 terminate-instances --instance-ids {other['InstanceId']}" in outcome.stdout


def test_logs_list_and_call(api: ApiClient, stack: Stack, instance: str, slipway: Command) -> None:
    assert f"  {instance}/setup  " in slipway("logs", stack.name, "setup", "--since", "1d").stdout
    (line,) = (line for line in slipway("list").stdout.splitlines() if line.startswith(f"{stack.name} "))
    assert {"ec2", "0.17"} <= set(line.split())
    outcome = slipway("call", stack.name, "Hello there", "--max-tokens", "5")
    assert (outcome.status, outcome.stderr, len(outcome.stdout.split())) == (0, "", 5)


def test_a_month_of_a_machine_has_ec2s_price_and_a_disk(
    api: ApiClient, stack: Stack, instance: str, slipway: Command
) -> None:
    assert slipway("call", stack.name, "Hello there", "--max-tokens", "5").status == 0
    found = json.loads(slipway("cost", stack.name, "--json").stdout)
    (machine,) = found["instances"]
    assert (machine["type"], machine["usd_per_hour"]) == ("c5.xlarge", 0.17)
    assert "disks" in {each["name"] for each in found["beside"]}
    assert found["models"][0]["calls"] > 0
    ways = {each["way"]: each for each in found["ways_to_idle"]}
    assert ways["ec2"]["problem"] == ""
    assert ways["ec2"]["hours"] > 0
    assert ways["always-on"]["usd"] == pytest.approx(ways["always-on"]["hours"] * 0.204, abs=0.01)


@pytest.mark.parametrize(
    "wrong",
    [{"num_samples": 0}, {"num_samples": 17}, {"length": 0}, {"temperature": -1}, {"top_p": 2}, {"prompt": 7}],
    ids=str,
)
def test_a_wrong_value_is_a_400_before_any_job(api: ApiClient, wrong: dict[str, Any]) -> None:
    status, _, answer = api.call("POST", "/jobs", PUBLISHED | wrong)
    assert status == 400
    assert next(iter(wrong)) in answer["error"]["message"]


def test_a_machine_stops_when_it_is_idle_but_not_while_a_job_runs_and_a_job_wakes_it(
    cloud: LocalCloud, stack: Stack, api: ApiClient, instance: str, slipway: Command
) -> None:
    wake(api)
    model = held(cloud, instance)
    job = job_that_runs(api)
    cloud.advance(2 * IDLE_MINUTES * 60)
    assert machines(cloud)[instance]["state"] == "running"
    os.kill(model, signal.SIGCONT)
    assert_answered(api, job)
    put_to_sleep(cloud, instance)
    assert endpoint(api)["status"] == "Stopped"
    page = slipway("status", stack.name).stdout
    assert "machines    1 of 1, 1 asleep" in page
    assert "cost        no machine runs; on AWS 17 GB of disk, about 1.36 USD a month" in page
    stream = opened_stream(api)
    assert stream.status == 200
    assert stream.readline() == b": the model is starting\n"  # before there is a model

    described = endpoint(api)  # the start may be over by now
    assert bool(described["start"]["since"]) == (described["status"] == "Starting")
    events = [line for line in stream if line.startswith(b"data: ")]
    assert len(json.loads(events[0].removeprefix(b"data: "))) == PUBLISHED["num_samples"]
    assert events[1:] == [b"data: [DONE]\n"]
    assert endpoint(api)["start"]["usual_seconds"] < 120


def test_bench_from_zero_measures_the_parts_of_the_start(
    cloud: LocalCloud, stack: Stack, api: ApiClient, instance: str, slipway: Command, tmp_path: Path
) -> None:
    wake(api)
    put_to_sleep(cloud, instance)
    file = tmp_path / f"{stack.name}.yaml"
    file.write_text((ROOT / "deployments" / "gpt2-ec2.yaml").read_text())
    options = ("--from-zero", "--clients", "1", "--requests", "2", "--rounds", "1", "-o", str(tmp_path))
    outcome = slipway("bench", str(file), *options)
    assert outcome.status == 0, outcome.stderr
    (folder,) = (tmp_path / stack.name).iterdir()
    start = read(folder).start
    assert start
    assert (start.kind, list(start.parts)) == ("zero", ["boot", "load", "first_answer"])
    assert "Time from zero" in (folder / "report.md").read_text()


def test_a_job_survives_a_worker_that_is_killed(cloud: LocalCloud, api: ApiClient, instance: str) -> None:
    wake(api)
    model = held(cloud, instance)
    job = job_that_runs(api)
    os.kill(services(cloud, instance)["slipway-worker"], signal.SIGKILL)
    os.kill(model, signal.SIGCONT)

    def answered() -> bool | None:
        cloud.advance(20)
        return status_of(api, job) not in ("queued", "running") or None

    wait_for(answered, "another attempt")
    assert_answered(api, job)


def test_a_job_survives_a_stop_from_outside(cloud: LocalCloud, stack: Stack, api: ApiClient, instance: str) -> None:
    wake(api)
    model = held(cloud, instance)
    job = job_that_runs(api)
    cloud.client("ec2", region=stack.region).stop_instances(InstanceIds=[instance])
    wait_for(lambda: status_of(api, job) == "queued" or None, "its return")
    os.kill(model, signal.SIGCONT)
    wait_for_state(cloud, instance, "stopped")
    cloud.advance(60)
    assert_answered(api, job)


def test_a_lack_of_capacity_and_a_boot_that_hangs_are_healed(
    cloud: LocalCloud, stack: Stack, api: ApiClient, instance: str
) -> None:
    wake(api)
    cloud.client("ec2", region=stack.region).stop_instances(InstanceIds=[instance])
    wait_for_state(cloud, instance, "stopped")
    cloud.advance(90)  # until its worker counts as silent
    order_fault(cloud, "no_capacity", count=100)
    job = submitted(api)
    cloud.advance(120)
    wait_for(lambda: endpoint(api)["status"] == "Failed" or None, "the refusal")
    assert machines(cloud)[instance]["state"] == "stopped"
    order_fault(cloud, "boot_hangs")
    forget_faults(cloud, "no_capacity")
    cloud.advance(60)
    wait_for_state(cloud, instance, "running")
    assert services(cloud, instance) == {}
    cloud.advance(STARTUP_TIMEOUT_IN_SECONDS + 60)
    wait_for_state(cloud, instance, "stopped")
    cloud.advance(60)
    assert_answered(api, job)


def test_a_set_up_that_fails_fails_the_deploy_with_the_end_of_its_log(
    cloud: LocalCloud, stack: Stack, tmp_path_factory: pytest.TempPathFactory, slipway: Command
) -> None:
    other = edited(stack, tmp_path_factory.mktemp("ec2"), lambda _: None, "broken-set-up")
    order_fault(cloud, "command_fails", command="dnf")
    with pytest.raises(DeployError) as failed:
        deploy(cloud, other)
    assert "The set-up of machine 0 ended with status 1" in str(failed.value)
    assert "dnf: failed as ordered by a test" in str(failed.value)
    assert failed.value.status == "ROLLBACK_COMPLETE"
    page = slipway("status", other.name).stdout
    assert "cause" not in page
    assert "(AWS::CloudFormation::WaitCondition)" in page
    assert "log         dnf: failed as ordered by a test" in page
    told = slipway("logs", other.name).stderr
    assert "The set-up of machine 0 ended with status 1" in told
    assert "dnf: failed as ordered by a test" in told


def test_after_a_destroy_a_purge_leaves_nothing(
    cloud: LocalCloud, stack: Stack, api: ApiClient, instance: str, slipway: Command
) -> None:
    """This test runs last, because it destroys the stack."""
    ec2, logs = (cloud.client(service, region=stack.region) for service in ("ec2", "logs"))
    tags = [{"Key": "slipway:deployment", "Value": stack.name}, {"Key": "slipway:machine", "Value": "0"}]
    forgotten = ec2.create_volume(
        AvailabilityZone=f"{stack.region}a", Size=17, TagSpecifications=[{"ResourceType": "volume", "Tags": tags}]
    )["VolumeId"]
    destroy(cloud, stack)
    outcome = slipway("purge", stack.name, "--yes")
    assert (outcome.status, outcome.stderr) == (0, "")
    removed = [line for line in outcome.stdout.splitlines() if line.startswith("removed ")]
    kinds = ("disk without a machine", "table: ", "bucket: ", "log group /slipway/machines/")
    assert [sum(kind in line for line in removed) for kind in kinds] == [1, 1, 1, 1]
    functions = [line for line in removed if "log group " in line and "/slipway/machines/" not in line]
    assert functions
    assert len(removed) == 4 + len(functions)
    assert forgotten not in [each["VolumeId"] for each in ec2.describe_volumes()["Volumes"]]
    assert not logs.describe_log_groups(logGroupNamePrefix=f"/slipway/machines/{stack.name}-")["logGroups"]
    assert "Nothing of machines is left" in slipway("purge", stack.name).stdout
