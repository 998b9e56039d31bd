"""`slipway` verify, status, call, logs and list, on a deployed stack."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.installed_version import installed_version
from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud, free_port
from slipway.measuring.figures.results import read
from slipway.stack.deployed_stack import UnknownStackError, find_stack
from support.command import Command, Outcome
from support.deployments.known_deployments import ACCOUNT_SETTINGS
from support.patience import PATIENCE_IN_SECONDS, wait_for
from support.repository import ROOT
from support.stacks.deployed_stacks import Apis, resource_ids
from support.stacks.small_stacks import statement
from support.terminal import Terminal

NAME = "gpt2"
SLIPWAY = f"Slipway {installed_version()}"
BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}


@pytest.fixture(scope="module", autouse=True)
def api(apis: Apis) -> ApiClient:
    return apis(NAME)


def environment_of(cloud: LocalCloud, api: ApiClient) -> dict[str, str]:
    """Return the environment of a command in its own process."""
    return {
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_ACCESS_KEY_ID": cloud.deployer.access_key_id,
        "AWS_SECRET_ACCESS_KEY": cloud.deployer.secret_access_key,
        "AWS_REGION": api.region,
    }


def endpoint_name(api: ApiClient) -> str:
    return str(api.call("GET", "/endpoint")[2]["name"])


class TestVerify:
    def test_a_good_deploy_passes_each_check(self, slipway: Command) -> None:
        outcome = slipway("verify", NAME)
        assert (outcome.status, outcome.stderr) == (0, ""), outcome.stdout
        checks = [line.split("  ")[0] for line in outcome.stdout.splitlines()]
        assert set(checks) == {"ok"}
        for seen in ("the stack's own", "is InService", "1 of 1", "POST /generate  200", "is succeeded"):
            assert seen in outcome.stdout

    def test_an_alarm_that_went_off_is_named(
        self, slipway: Command, cloud: LocalCloud, stacks: dict[str, Stack]
    ) -> None:
        alarms = resource_ids(cloud, stacks[NAME], "AWS::CloudWatch::Alarm")
        (alarm,) = (name for name in alarms if "DeadLetters" in name)
        sqs = cloud.client("sqs", region=stacks[NAME].region)
        (queue,) = (each for each in resource_ids(cloud, stacks[NAME], "AWS::SQS::Queue") if "DeadLetters" in each)
        sqs.send_message(QueueUrl=queue, MessageBody="{}")
        cloud.advance(60)
        outcome = slipway("verify", NAME, "--json")
        page = slipway("status", NAME).stdout
        sqs.purge_queue(QueueUrl=queue)
        cloud.advance(60)
        assert only_failure(outcome) == ("alarms", f"{alarm} went off")
        assert "-> docs/runbook.md#dead-letters, or slipway runbook dead-letters" in page

    def test_another_configuration_than_the_stacks_is_found(
        self, slipway: Command, api: ApiClient, cloud: LocalCloud
    ) -> None:
        """This happens after a rollback by SageMaker that CloudFormation took for a success."""
        sagemaker, name = cloud.client("sagemaker", region=api.region), endpoint_name(api)
        own = sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"]
        variants = sagemaker.describe_endpoint_config(EndpointConfigName=own)["ProductionVariants"]
        sagemaker.create_endpoint_config(EndpointConfigName="older", ProductionVariants=variants)
        with running(sagemaker, name, "older", instead_of=own):
            outcome = slipway("verify", NAME, "--json")
        assert only_failure(outcome) == ("configuration", f"the endpoint runs older; the stack's is {own.lower()}")

    def test_an_endpoint_of_an_earlier_stack_still_bills(
        self, slipway: Command, api: ApiClient, cloud: LocalCloud
    ) -> None:
        sagemaker, name = cloud.client("sagemaker", region=api.region), endpoint_name(api)
        config = sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"]
        for other in (f"{NAME}-0123abcd", f"{NAME}-cpu-0123abcd"):  # the second is of another deployment
            sagemaker.create_endpoint(EndpointName=other, EndpointConfigName=config)
            sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=other, WaiterConfig={"Delay": 1})
        outcome = slipway("verify", NAME, "--json")
        for other in (f"{NAME}-0123abcd", f"{NAME}-cpu-0123abcd"):
            sagemaker.delete_endpoint(EndpointName=other)
        assert only_failure(outcome) == ("still billing", f"{NAME}-0123abcd of an earlier stack")


def only_failure(outcome: Outcome) -> tuple[str, str]:
    found = json.loads(outcome.stdout)
    assert (outcome.status, found["good"]) == (1, False)
    (failed,) = (check for check in found["checks"] if not check["good"])
    return failed["name"], failed["seen"]


@contextmanager
def running(sagemaker: Any, endpoint: str, config: str, *, instead_of: str) -> Iterator[None]:
    """Make the endpoint run a configuration that is not its stack's."""
    for name in (config, instead_of):
        sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=name)
        sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=endpoint, WaiterConfig={"Delay": 1})
        if name == config:
            yield


class TestStatus:
    def test_open_jobs_queue_instances_and_cost_are_counted(
        self, slipway: Command, api: ApiClient, cloud: LocalCloud, stacks: dict[str, Stack]
    ) -> None:
        functions = resource_ids(cloud, stacks[NAME], "AWS::Lambda::Function")
        (worker,) = (name for name in functions if "RunJob" in name)
        lambda_ = cloud.client("lambda", region=api.region)
        lambda_.put_function_concurrency(FunctionName=worker, ReservedConcurrentExecutions=0)
        job = api.call("POST", "/jobs", BODY)[2]
        found = json.loads(slipway("status", NAME, "--json").stdout)
        page = slipway("status", NAME).stdout
        lambda_.delete_function_concurrency(FunctionName=worker)
        api.call("GET", f"/jobs/{job['id']}?wait=25")
        assert found["open_jobs"] == 1
        assert found["queue"]["waiting"] + found["queue"]["in_flight"] == 1
        assert found["instances"] == {"current": 1, "desired": 1, "types": {"ml.g5.xlarge": 1}}
        assert found["usd_per_hour"] == 1.41
        assert found["failure"] is None
        assert "jobs        1 open" in page
        assert "instances   1 of 1: 1 x ml.g5.xlarge" in page
        assert "cost        on AWS about 1.41 USD an hour" in page
        assert f"local cloud at {cloud.url}; nothing is spent here; a text generator answers" in page
        assert f"API         {api.url}" in page

    def test_an_unknown_name_names_the_nearest(self, slipway: Command) -> None:
        assert slipway("status", "chat/prod").stderr.startswith("chat-prod: there is no such stack ")
        outcome = slipway("status", "gtp2")
        assert outcome.status == 2
        assert (
            outcome.stderr == "gtp2: there is no such stack in us-east-1 of account 111122223333; did you mean gpt2?\n"
        )

    def test_a_caller_without_permission_gets_one_sentence(self, slipway: Command, cloud: LocalCloud) -> None:
        outcome = slipway("status", NAME, caller=cloud.create_user("stranger", [statement("sts:*")]))
        assert outcome.status == 2
        assert outcome.stderr.startswith("AWS does not allow DescribeStacks")


class TestCall:
    @pytest.mark.parametrize("more", [(), ("--job",)])
    def test_the_answers_text_is_printed_alone(self, slipway: Command, api: ApiClient, more: tuple[str, ...]) -> None:
        expected = api.call("POST", "/generate", BODY)[2][0]["generated_text"]
        outcome = slipway("call", NAME, "A list is", "--max-tokens", "3", *more)
        assert (outcome.status, outcome.stderr) == (0, "")
        assert outcome.stdout == expected.strip() + "\n"

    def test_json_is_the_whole_answer(self, slipway: Command, api: ApiClient) -> None:
        outcome = slipway("call", NAME, "A list is", "--max-tokens", "3", "--json")
        assert json.loads(outcome.stdout) == api.call("POST", "/generate", BODY)[2]

    def test_a_refusal_is_printed_with_its_code(self, slipway: Command) -> None:
        outcome = slipway("call", NAME, " ", "--max-tokens", "600000")
        assert (outcome.status, outcome.stdout) == (1, "")
        assert outcome.stderr.startswith("400 ")


def test_openapi_prints_the_document_of_this_api_and_of_no_other_route(slipway: Command, api: ApiClient) -> None:
    document = json.loads(slipway("openapi", NAME).stdout)
    assert set(document["paths"]) == {"/generate", "/jobs", "/jobs/{id}", "/endpoint"}
    assert document["paths"]["/generate"]["post"]["security"] == [{"signature": []}]
    assert document["components"]["schemas"]["Complete"]["properties"]["model"]["examples"] == [
        api.call("GET", "/endpoint")[2]["model_id"]
    ]
    assert document["servers"] == [{"url": api.url.rstrip("/")}]


class TestPlayground:
    def test_a_curl_line_works_unsigned_no_secret_is_printed_and_ctrl_c_ends_it(
        self, api: ApiClient, cloud: LocalCloud, tmp_path: Path
    ) -> None:
        with subprocess.Popen(
            [sys.executable, "-m", "slipway", "playground", NAME, "--playground-port", str(free_port())],
            cwd=ROOT,
            env=os.environ | environment_of(cloud, api) | {"XDG_STATE_HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout
            lines = [process.stdout.readline() for _ in range(5)]
            (curl,) = (line for line in lines if line.startswith("curl "))
            answer = subprocess.run(curl, shell=True, capture_output=True, text=True, check=True).stdout
            assert json.loads(answer)["status"] == "InService"
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_IN_SECONDS) == 130
            printed = "".join(lines) + process.stdout.read()
        assert "Ctrl-C stops it" in printed
        assert "Traceback" not in printed
        assert cloud.deployer.access_key_id not in printed
        assert cloud.deployer.secret_access_key not in printed

    def test_a_taken_port_is_reported_in_one_sentence(self, slipway: Command) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            outcome = slipway("playground", NAME, "--playground-port", str(taken.getsockname()[1]))
        assert outcome.status == 2
        assert "can't be used: another program uses it; name another with --playground-port." in outcome.stderr


class TestBench:
    SMALL = ("--clients", "1,2", "--requests", "3", "--rounds", "1", "--prompt-tokens", "8", "--answer-tokens", "4")

    def test_a_folder_that_cannot_hold_the_report_is_refused_before_the_load(
        self, slipway: Command, tmp_path: Path
    ) -> None:
        (file := tmp_path / "file").touch()
        outcome = slipway("bench", NAME, *self.SMALL, "-o", str(file))
        assert outcome.status == 2
        assert outcome.stderr.startswith(f"-o: {file / NAME} can't be used: ")
        assert outcome.stderr.count("\n") == 1

    def test_the_report_has_each_load_and_names_the_source_of_its_figures(
        self, slipway: Command, tmp_path: Path
    ) -> None:
        rate = ("--rate", "20", "--seconds", "1", "--route", "generate")
        outcome = slipway("bench", NAME, *self.SMALL, *rate, "-o", str(tmp_path))
        assert outcome.status == 0, outcome.stderr
        assert "Figures of the stand-in" in outcome.stdout
        (folder,) = (tmp_path / NAME).iterdir()
        assert f"report {folder / 'report.html'}" in outcome.stdout
        assert sorted(each.name for each in folder.iterdir()) == ["report.html", "report.md", "results.json"]
        results = read(folder)
        assert [(each.clients, each.rate) for each in results.loads] == [(1, None), (2, None), (None, 20)]
        assert [len(each.answers) for each in results.loads[:2]] == [3, 3]
        answers = [answer for load in results.loads for answer in load.answers]
        assert {(each.error, each.answer_tokens) for each in answers} == {(None, 4)}
        assert list(results.versions) == ["slipway", "python", "boto3", "urllib3"]
        assert results.start
        assert list(results.start.parts) == ["capacity and image, and weights that are staged", "load"]

    def test_jobs_tell_of_the_queue_and_of_their_delivery(self, slipway: Command, tmp_path: Path) -> None:
        outcome = slipway("bench", NAME, *self.SMALL, "--route", "jobs", "-o", str(tmp_path))
        assert outcome.status == 0, outcome.stderr
        (folder,) = (tmp_path / NAME).iterdir()
        for answer in (answer for load in read(folder).loads for answer in load.answers):
            assert (answer.error, answer.attempts) == (None, 1)
            assert answer.queued_in_s is not None
            assert answer.last_token_in_s is not None
            assert answer.delivered_in_s is not None
            assert 0 <= answer.queued_in_s <= answer.last_token_in_s <= answer.delivered_in_s

    def test_ctrl_c_ends_it_with_the_report_so_far(self, api: ApiClient, cloud: LocalCloud, tmp_path: Path) -> None:
        with subprocess.Popen(
            [sys.executable, "-m", "slipway", "bench", NAME, *self.SMALL, "--rounds", "9999", "-o", str(tmp_path)],
            cwd=ROOT,
            env=os.environ | environment_of(cloud, api),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            wait_for(lambda: list(tmp_path.glob("*/*/results.json")) or None, "the first load")
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=PATIENCE_IN_SECONDS)
        assert (process.returncode, "Traceback" in printed) == (130, False)
        assert "Interrupted: Ctrl-C." in printed
        (folder,) = (tmp_path / NAME).iterdir()
        assert "Ctrl-C" in (folder / "report.md").read_text()

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            (("--from-zero",), f"--from-zero: {NAME} must be asleep, but is InService (running instances: 1)"),
            (("--slo", "ttft_p90<1s", "--route", "generate"), "is measured on a stream only"),
            (("--keep",), "--keep: the figures are the stand-in's"),
            (("--prompt-tokens", "90000"), "Nothing was measured: the first request by"),
        ],
    )
    def test_a_load_that_can_not_be_measured_is_refused_in_one_sentence(
        self, slipway: Command, tmp_path: Path, wrong: tuple[str, ...], said: str
    ) -> None:
        outcome = slipway("bench", NAME, *self.SMALL, *wrong, "-o", str(tmp_path))
        assert (outcome.status, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
        assert said in outcome.stderr
        assert not list(tmp_path.iterdir())


class TestLogs:
    def test_container_functions_and_api_have_theirs(self, slipway: Command, api: ApiClient) -> None:
        request_id = api.call("POST", "/generate", BODY)[1]["x-request-id"]
        assert "POST /invocations 200" in slipway("logs", NAME).stdout
        assert request_id in slipway("logs", NAME, "access").stdout
        functions = slipway("logs", NAME, "functions", "--since", "1d").stdout
        (line,) = (line for line in functions.splitlines() if request_id in line and '"route"' in line)
        assert "  generate  {" in line
        assert "_aws" not in functions
        assert "START RequestId" not in functions
        everything = slipway("logs", NAME, "functions", "--since", "99999d", "--all").stdout
        assert '"_aws"' in everything
        assert "START RequestId" in everything
        one = slipway("logs", NAME, "generate").stdout
        assert request_id in one
        assert "  generate  " not in one, "there is no other source to tell it from"

    def test_a_source_that_is_not_there_names_the_nearest(self, slipway: Command) -> None:
        outcome = slipway("logs", NAME, "generat")
        assert outcome.status == 1
        assert outcome.stderr == "generat: gpt2 has no such log; did you mean generate?\n"

    def test_it_follows(self, api: ApiClient, cloud: LocalCloud) -> None:
        api.call("POST", "/generate", BODY)
        with subprocess.Popen(
            [sys.executable, "-m", "slipway", "logs", NAME, "generate", "--follow"],
            cwd=ROOT,
            env=os.environ | environment_of(cloud, api),
            stdout=subprocess.PIPE,
            text=True,
        ) as following:
            assert following.stdout
            assert following.stdout.readline(), "of the hour before"
            request_id = api.call("POST", "/generate", BODY)[1]["x-request-id"]
            assert any(request_id in line for line in following.stdout)
            following.kill()


def test_a_stack_that_slipway_has_not_made_is_left_alone(cloud: LocalCloud, stacks: dict[str, Stack]) -> None:
    clients = partial(cloud.client, region=stacks[NAME].region)
    with pytest.raises(UnknownStackError, match="Slipway has not made the stack of this name"):
        find_stack(ACCOUNT_SETTINGS, clients)


def test_diff_finds_no_change_in_a_deployed_stack(slipway: Command) -> None:
    outcome = slipway("diff", NAME, "--against", "stack")
    assert (outcome.status, outcome.stdout) == (0, f"gpt2 against the stack gpt2 of {SLIPWAY}: nothing changes\n")


def test_list_shows_deployments_and_no_other_stack(slipway: Command) -> None:
    outcome = slipway("list")
    assert outcome.status == 0
    assert "This is the local cloud at http://127.0.0.1:" in outcome.stderr
    lines = outcome.stdout.splitlines()
    assert lines[0].split()[:6] == ["NAME", "STATUS", "SERVES", "MODE", "USD/H", "NOW"]
    assert lines[0].split()[-2:] == ["REQUESTS", "TOKENS"]
    (line,) = (" ".join(line.split()) for line in lines if line.startswith(f"{NAME} "))
    assert line.startswith("gpt2 CREATE_COMPLETE openai-community/gpt2 on tgi realtime 1.41 ")
    assert max(map(len, lines)) <= 140
    assert ACCOUNT_SETTINGS not in outcome.stdout


def test_list_counts_what_callers_asked_this_month(slipway: Command, api: ApiClient) -> None:
    before = listed(slipway)
    for _ in range(3):
        assert api.call("POST", "/generate", BODY)[0] == 200
    found = listed(slipway)
    assert found["requests"] == before["requests"] + 3
    assert found["usd"] >= 0
    told = ("name", "status", "serves", "mode", "version", "cost", "usd_per_hour", "not_asked")
    assert {name: found[name] for name in told} == {
        "name": NAME,
        "status": "CREATE_COMPLETE",
        "serves": "openai-community/gpt2 on tgi",
        "mode": "realtime",
        "version": installed_version(),
        "cost": "on AWS about 1.41 USD an hour for the instances that run now",
        "usd_per_hour": 1.4084,
        "not_asked": None,
    }


def listed(slipway: Command) -> dict[str, Any]:
    (found,) = (each for each in json.loads(slipway("list", "--json").stdout) if each["name"] == NAME)
    return dict(found)


def test_list_shows_a_deployment_whose_figures_the_caller_may_not_read(slipway: Command, cloud: LocalCloud) -> None:
    allowed = ["cloudformation:*", "sagemaker:*", "lambda:*", "sts:*", "ec2:*"]
    outcome = slipway("list", caller=cloud.create_user("without-metrics", [statement(allowed)]))
    assert outcome.status == 0
    assert "gpt2: not asked: AWS does not allow GetMetricData" in outcome.stderr
    assert "gpt2 CREATE_COMPLETE openai-community/gpt2 on tgi realtime 1.41 - - -" in " ".join(outcome.stdout.split())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--region", "us-east-1,"), "must name regions, each once, such as us-east-1,eu-west-1"),
        (("--account", "1234"), "must name accounts of twelve digits, each once"),
        (("--role", "arn:aws:iam::111122223333:role/x"), "is not the name of a role; give one without account"),
    ],
)
def test_list_refuses_a_wrong_place_in_one_sentence(slipway: Command, wrong: tuple[str, ...], said: str) -> None:
    outcome = slipway("list", *wrong)
    assert (outcome.status, said in outcome.stderr) == (2, True)


class TestDashboard:
    def test_a_deployment_without_one_is_told_the_setting(self, slipway: Command) -> None:
        outcome = slipway("dashboard", NAME)
        assert (outcome.status, outcome.stdout) == (1, "")
        assert outcome.stderr == (
            "gpt2 has no dashboard: set operations.dashboard: true in its file and deploy it, or use "
            "`slipway status gpt2 --watch`.\n"
        )

    def test_an_account_without_one_is_told_the_setting(self, slipway: Command) -> None:
        outcome = slipway("dashboard")
        assert (outcome.status, outcome.stdout) == (1, "")
        assert outcome.stderr.startswith(
            "The account has no dashboard of us-east-1: `npx cdk deploy slipway-account-settings"
        )


def names_of_users(iam: Any) -> list[str]:
    return [each["UserName"] for page in iam.get_paginator("list_users").paginate() for each in page["Users"]]


def most_jobs(text: str) -> int:
    """Return the largest number of ended jobs that the page has shown."""
    return max((int(each) for each in re.findall(r"ended +(\d+) in 15 minutes", text)), default=0)


class TestWatch:
    def test_the_page_answers_each_question_follows_the_service_and_ctrl_c_ends_it(
        self, api: ApiClient, cloud: LocalCloud
    ) -> None:
        with Terminal("status", NAME, "--watch", "--interval", "1", environment=environment_of(cloud, api)) as shown:
            for question in ("up?", "fast?", "full?", "jobs?", "cost?", "who?"):
                shown.wait_for(question)
            shown.wait_for("InService, 1 of 1 instances")
            shown.wait_for("1.41 USD an hour")
            before = most_jobs(shown.text)
            assert api.call("POST", "/jobs", BODY)[0] == 202
            shown.wait_until(lambda text: most_jobs(text) > before, "the end of a job")
            assert shown.end_with_ctrl_c() == 0
        assert "Traceback" not in shown.text

    def test_lost_permission_is_told_and_the_page_goes_on_when_it_is_back(
        self, api: ApiClient, cloud: LocalCloud
    ) -> None:
        caller, iam = cloud.create_user("watcher", [statement("*")]), cloud.client("iam", region=api.region)
        (user,) = (each for each in names_of_users(iam) if each.startswith("watcher-"))
        given = environment_of(cloud, api) | {
            "AWS_ACCESS_KEY_ID": caller.access_key_id,
            "AWS_SECRET_ACCESS_KEY": caller.secret_access_key,
        }
        with Terminal("status", NAME, "--watch", "--interval", "1", environment=given) as shown:
            shown.wait_for("who?")
            iam.update_access_key(UserName=user, AccessKeyId=caller.access_key_id, Status="Inactive")
            shown.wait_for("AWS does not accept the credentials")
            shown.wait_for("Asks again in 1 s.")
            iam.update_access_key(UserName=user, AccessKeyId=caller.access_key_id, Status="Active")
            shown.forget()
            shown.wait_for("who?")
            assert shown.end_with_sigterm() == 0, "a process that the signal kills leaves the terminal as it is"

    def test_json_is_one_object_a_line(self, api: ApiClient, cloud: LocalCloud) -> None:
        with subprocess.Popen(
            [sys.executable, "-m", "slipway", "status", NAME, "--watch", "--json", "--interval", "1"],
            cwd=ROOT,
            env=os.environ | environment_of(cloud, api),
            stdout=subprocess.PIPE,
            text=True,
        ) as watching:
            assert watching.stdout
            first, second = (json.loads(watching.stdout.readline()) for _ in range(2))
            watching.send_signal(signal.SIGINT)
            assert watching.wait(PATIENCE_IN_SECONDS) == 0
        assert second["at"] > first["at"]
        assert (second["name"], second["not_asked"], second["cost"]["usd_per_hour"]) == (NAME, None, 1.4084)
        assert {"requests", "model_p99_in_s", "jobs_ended", "oldest_job_in_s"} <= second["gauges"].keys()
        assert {len(series) for series in second["gauges"].values()} == {15}

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("gpt2", "--watch"), "--watch needs a terminal: add --json for an object in each line"),
            (("gpt2", "--interval", "5"), "--interval needs --watch"),
            (("gpt2", "--watch", "--interval", "0"), "'0' must be 1 to 604800 seconds"),
            (("gtp2", "--watch", "--json"), "gtp2: there is no such stack in us-east-1"),
        ],
    )
    def test_what_can_not_be_watched_is_told_in_one_sentence(
        self, slipway: Command, arguments: tuple[str, ...], said: str
    ) -> None:
        outcome = slipway("status", *arguments)
        assert (outcome.status, outcome.stdout, said in outcome.stderr) == (2, "", True)
