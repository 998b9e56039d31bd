"""Updates of components: all copies at once or in batches, rolled back by a failed start or by an alarm."""

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.component_endpoints import DeployedComponent, alarm, component, order
from support.stacks.small_stacks import REGION, Resources, StackFailedError, update

A_MINUTE = 60
ROLLING: dict[str, Any] = {
    "RollingUpdatePolicy": {"MaximumBatchSize": {"Type": "COPY_COUNT", "Value": 1}, "WaitIntervalInSeconds": 300},
    "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": {"Ref": "Alarm"}}]},
}


def changed(resources: Resources, environment: dict[str, str], **properties: Any) -> Resources:
    """Return the resources with another model and these properties of the component."""
    found = copy.deepcopy(resources)
    model = found.pop("Model")
    model["Properties"]["PrimaryContainer"]["Environment"] |= environment
    found["Newer"] = model
    found["Component"]["Properties"] |= properties
    specification = found["Component"]["Properties"]["Specification"]
    specification["ModelName"] = {"Fn::GetAtt": ["Newer", "ModelName"]}
    return found


def pids(cloud: LocalCloud, name: str) -> set[int]:
    found = requests.get(f"{cloud.url}/_slipway/containers", timeout=30).json()
    return {each["pid"] for each in found if each["component"] == name}


def test_an_update_replaces_the_copies_beside_the_old_ones(bare_cloud: LocalCloud) -> None:
    deployed = DeployedComponent(bare_cloud, "replaced")
    before = pids(bare_cloud, "replaced")
    update(bare_cloud, "replaced", changed(deployed.resources, {"NEW": "1"}))
    assert not before & pids(bare_cloud, "replaced")
    assert (deployed.copies(), "generated_text" in deployed.call()) == ((1, 1), True)


def test_an_update_at_zero_wakes_the_component(bare_cloud: LocalCloud) -> None:
    deployed = DeployedComponent(bare_cloud, "woken")
    deployed.scale_to(0)
    update(bare_cloud, "woken", changed(deployed.resources, {"NEW": "1"}))
    assert deployed.copies() == (1, 1)


def test_a_failed_start_leaves_the_old_copies_in_service(bare_cloud: LocalCloud) -> None:
    deployed = DeployedComponent(bare_cloud, "kept")
    before = pids(bare_cloud, "kept")
    with pytest.raises(StackFailedError, match="did not pass the ping health check"):
        update(bare_cloud, "kept", changed(deployed.resources, {"HF_MODEL_ID": ""}))
    assert pids(bare_cloud, "kept") == before
    assert "generated_text" in deployed.call()


def rolling(cloud: LocalCloud, name: str) -> DeployedComponent:
    deployed = DeployedComponent(cloud, name, more={"Alarm": alarm(name)})
    deployed.resources["Component"] = component(name, name, RuntimeConfig={"CopyCount": 2})
    update(cloud, name, deployed.resources)
    return deployed


def test_copies_are_replaced_in_batches_under_the_eyes_of_the_alarm(bare_cloud: LocalCloud) -> None:
    name = "rolled"
    deployed = rolling(bare_cloud, name)
    before = pids(bare_cloud, name)
    with ThreadPoolExecutor(1) as executor:
        updating = executor.submit(update, bare_cloud, name, changed(deployed.resources, {}, DeploymentConfig=ROLLING))
        wait_for(lambda: len(pids(bare_cloud, name)) == 3 or None, "the first new copy beside the old ones")
        bare_cloud.advance(301)
        wait_for(lambda: len(pids(bare_cloud, name) & before) == 1 or None, "the end of an old copy")
        bare_cloud.advance(301)
        updating.result()
    assert (deployed.copies(), len(pids(bare_cloud, name) & before)) == ((2, 2), 0)


def test_an_alarm_during_an_update_brings_the_old_copies_back(bare_cloud: LocalCloud) -> None:
    name = "alarmed"
    deployed = rolling(bare_cloud, name)
    before = pids(bare_cloud, name)
    with ThreadPoolExecutor(1) as executor:
        updating = executor.submit(update, bare_cloud, name, changed(deployed.resources, {}, DeploymentConfig=ROLLING))
        wait_for(lambda: len(pids(bare_cloud, name)) == 3 or None, "the first new copy beside the old ones")
        bare_cloud.client("cloudwatch", region=REGION).set_alarm_state(
            AlarmName=f"{name}-alarm", StateValue="ALARM", StateReason="a test"
        )
        bare_cloud.advance(A_MINUTE)
        updating.result()  # as for endpoints, a rollback by an alarm has no reason
    assert (deployed.copies(), pids(bare_cloud, name)) == ((2, 2), before)


@pytest.mark.parametrize(("copies", "batch"), [(1, 1), (3, 2)])
def test_a_batch_is_at_most_half_of_the_copies(bare_cloud: LocalCloud, copies: int, batch: int) -> None:
    name = f"half-{copies}"
    deployed = DeployedComponent(bare_cloud, name)
    policy = ROLLING["RollingUpdatePolicy"] | {"MaximumBatchSize": {"Type": "COPY_COUNT", "Value": batch}}
    config = {"DeploymentConfig": {"RollingUpdatePolicy": policy}, "RuntimeConfig": {"CopyCount": copies}}
    with pytest.raises(StackFailedError, match="between 5% and 50% of the copy count"):
        update(bare_cloud, name, changed(deployed.resources, {}, **config))


def test_an_update_needs_an_instance_more(bare_cloud: LocalCloud) -> None:
    deployed = DeployedComponent(bare_cloud, "spare")
    order(bare_cloud, {"fault": "quota"})
    with pytest.raises(StackFailedError, match="account-level service limit"):
        update(bare_cloud, "spare", changed(deployed.resources, {"NEW": "1"}))
    assert "generated_text" in deployed.call()
