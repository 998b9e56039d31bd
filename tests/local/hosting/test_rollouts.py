"""Updates by parts of a deployed endpoint: a canary that its alarm undoes, and batches that callers don't notice."""

import json
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests

from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy
from support.patience import wait_for
from support.stacks.callers import calling
from support.stacks.deployed_stacks import containers, deployed, edited, update
from support.templates.template_parts import Template, properties

# Longer than the max_model_len of 8192. LMI 28 answers it with a caller's mistake, LMI 25 with a failure of its own.
LONG = {"inputs": "word " * 9000}


def test_a_canary_that_fails_is_undone_by_its_alarm_after_it_failed_a_share_of_the_callers(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    client = deployed(cloud, replace(stacks["canary"], name="canaried"))
    sagemaker = cloud.client("sagemaker", region=client.region)
    name = client.call("GET", "/endpoint")[2]["name"]
    before = sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"]

    def run_lmi_25(template: Template) -> None:
        older = json.dumps(template).replace("0.36.0-lmi28.0.0-cu130", "0.36.0-lmi25.0.0-cu130")
        template.update(json.loads(older))

    old, statuses = client.call("POST", "/generate", LONG)[0], []
    with ThreadPoolExecutor(1) as executor:
        updating = executor.submit(deploy, cloud, edited(stacks["canary"], tmp_path, run_lmi_25, "canaried"))
        wait_for(lambda: stage(sagemaker, name) == "Baking" or None, "the canary")
        while not wait([updating], timeout=0.2).done:
            statuses += [client.call("POST", "/generate", LONG)[0] for _ in range(4)]
            cloud.advance(60)
        updating.result()
    failed = statuses.count(502)
    assert set(statuses) == {old, 502}
    assert failed <= len(statuses) / 2, "half of the instances are the canary"
    assert sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"] == before
    assert len(containers(cloud, "canaried")) == 2
    assert client.call("POST", "/generate", LONG)[0] == old


def stage(sagemaker: Any, endpoint: str) -> str | None:
    summary = sagemaker.describe_endpoint(EndpointName=endpoint).get("PendingDeploymentSummary")
    return str(summary["ProductionVariants"][0]["VariantStatus"][0]["Status"]) if summary else None


def test_callers_do_not_notice_an_update_in_batches_which_needs_one_instance_more(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    client = deployed(cloud, replace(stacks["rolling"], name="in-batches"))
    before = {each["instance"] for each in containers(cloud, "in-batches")}
    most = 0

    def change(template: Template) -> None:
        properties(template, "SageMaker::Model")["PrimaryContainer"]["Environment"]["MAX_CONCURRENT_REQUESTS"] = "64"

    with ThreadPoolExecutor(1) as executor, calling(client) as statuses:
        updating = executor.submit(deploy, cloud, edited(stacks["rolling"], tmp_path, change, "in-batches"))
        while not wait([updating], timeout=0.2).done:
            most = max(most, len(containers(cloud, "in-batches")))
            if requests.get(f"{cloud.url}/_slipway/clock", timeout=30).json()["is_awaited"]:
                cloud.advance(60)
        updating.result()
    assert set(statuses) == {200}
    assert most == 3 + 1
    after = {each["instance"] for each in containers(cloud, "in-batches")}
    assert (len(after), after & before) == (3, set())


def test_a_bad_batch_is_undone_while_the_other_instances_answer(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    client = deployed(cloud, replace(stacks["rolling"], name="bad-batch"))
    before = {each["instance"] for each in containers(cloud, "bad-batch")}

    def refuse_to_start(template: Template) -> None:
        container = properties(template, "SageMaker::Model")["PrimaryContainer"]
        container["Environment"] |= {"MAX_INPUT_LENGTH": "2048", "MAX_TOTAL_TOKENS": "1024"}

    with calling(client) as statuses, pytest.raises(DeployError, match="did not pass the ping health check"):
        update(cloud, edited(stacks["rolling"], tmp_path, refuse_to_start, "bad-batch"))
    assert set(statuses) == {200}
    assert {each["instance"] for each in containers(cloud, "bad-batch")} == before


def test_callers_do_not_notice_an_update_of_a_component_in_batches_of_copies(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    def without_adapters(template: Template) -> None:
        adapters = [name for name, each in template["Resources"].items() if "BaseInferenceComponentName" in str(each)]
        for name in adapters:
            del template["Resources"][name]

    def change(template: Template) -> None:
        without_adapters(template)
        properties(template, "SageMaker::Model")["PrimaryContainer"]["Environment"]["OPTION_MAX_MODEL_LEN"] = "4096"

    client = deployed(cloud, edited(stacks["rolling-copies"], tmp_path, without_adapters, "copies"))
    before = {each["instance"] for each in containers(cloud, "copies")}
    with calling(client) as statuses:
        update(cloud, edited(stacks["rolling-copies"], tmp_path, change, "copies"))
    assert set(statuses) == {200}
    after = {each["instance"] for each in containers(cloud, "copies")}
    assert (len(before), len(after), after & before) == (2, 2, set())
