"""Fixtures that all tests share. It does not import the CDK, because unit tests would wait for that import."""

import hashlib
import json
import re
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack, read_stacks, synthesize
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import deploy
from local_cloud.keys import put_key
from support.command import Command, command_on
from support.deployments.known_deployments import ACCOUNT_SETTINGS, SHIPPED_FILES, STAGED_FILE, VARIANT_FILES
from support.repository import ROOT
from support.stacks.budget_topic import make_topic
from support.stacks.small_stacks import REGION, delete_stacks
from support.stacks.staging_runs import BUCKET, FILES, MODEL, Staging
from support.stand_ins.hub_server import HubServer
from support.stand_ins.issuer import HOST, Issuer
from support.stand_ins.s3_recorder import S3Recorder

assert not (ROOT / "constructs" / "__init__.py").exists(), "constructs/__init__.py hides the CDK's package of that name"

# A shell ignores SIGINT for background jobs, and children inherit that; some tests send Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadlines on shared machines; CI uses fixed examples, so that its failures can be repeated.
hypothesis.settings.register_profile("shared", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("ci", hypothesis.settings.get_profile("shared"), derandomize=True)
hypothesis.settings.load_profile("shared")


OWN_KEY = re.compile(r"arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key/[a-f0-9-]+")


@pytest.fixture(scope="session")
def assembly() -> Path:
    """Synthesize every shipped deployment, every variant, the account settings and a staging in one run of app.py."""
    files = map(str, [*SHIPPED_FILES.values(), *VARIANT_FILES])
    names = [*files, ACCOUNT_SETTINGS, f"slipway-staging-{STAGED_FILE}"]
    return synthesize(names, ROOT / "cdk.out" / "tests")


@pytest.fixture(scope="session")
def templates(assembly: Path) -> dict[str, dict[str, Any]]:
    """Return the template of each stack by the stack's name."""
    return {stack.name: stack.template for stack in read_stacks(assembly)}


@pytest.fixture(scope="session")
def nag_report(assembly: Path) -> dict[str, Any]:
    """Return the report of cdk-nag's findings that synth wrote."""
    report: dict[str, Any] = json.loads((assembly / "validation-report.json").read_text())
    return report


@pytest.fixture(scope="session")
def stacks(assembly: Path) -> dict[str, Stack]:
    """Return every synthesized stack by its name."""
    found = {stack.name: stack for stack in read_stacks(assembly)}
    for stack in found.values():
        mark_as_linted(stack)  # tests/templates/test_nag_and_lint.py lints them all
    return found


@pytest.fixture(scope="session")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuer]:
    """Run an issuer of tokens, which functions on the shared cloud reach."""
    with Issuer(tmp_path_factory.mktemp("issuer")) as running:
        yield running


@pytest.fixture(scope="session")
def shared_cloud(stacks: dict[str, Stack], issuer: Issuer) -> Iterator[LocalCloud]:
    """Run one local cloud for all tests, with the account settings deployed."""
    with LocalCloud(port=free_port(), issuers={HOST: issuer.port}, certificates=issuer.certificates) as running:
        running.wait_until_ready()
        issuer.now = running.now
        for arn in {each for stack in stacks.values() for each in OWN_KEY.findall(json.dumps(stack.template))}:
            put_key(running, arn)
        make_topic(running)
        deploy(running, stacks[ACCOUNT_SETTINGS])
        yield running


@pytest.fixture(scope="module")
def cloud(shared_cloud: LocalCloud, stacks: dict[str, Stack]) -> Iterator[LocalCloud]:
    """Give the shared cloud to a module and delete the module's stacks at its end."""
    yield shared_cloud
    for region in {stack.region for stack in stacks.values()}:
        delete_stacks(shared_cloud, region, but=[ACCOUNT_SETTINGS])


@pytest.fixture(scope="session")
def shared_bare_cloud() -> Iterator[LocalCloud]:
    """Run one local cloud without our stacks for all tests."""
    with LocalCloud(port=free_port()) as running:
        running.wait_until_ready()
        yield running


@pytest.fixture(scope="module")
def bare_cloud(shared_bare_cloud: LocalCloud) -> Iterator[LocalCloud]:
    """Give the cloud without our stacks to a module and delete the module's stacks at its end."""
    yield shared_bare_cloud
    delete_stacks(shared_bare_cloud, REGION)


@pytest.fixture(scope="module")
def apis(cloud: LocalCloud, stacks: dict[str, Stack]) -> Callable[[str], ApiClient]:
    """Return a function that gives the API of a deployment by its name; the first call deploys it."""

    @cache
    def api(name: str) -> ApiClient:
        return connect(cloud, deploy(cloud, stacks[name]), stacks[name].region)

    return api


@pytest.fixture
def slipway(cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line on the shared cloud."""
    return command_on(cloud, REGION, monkeypatch, capsys)


@pytest.fixture(scope="session")
def staged_weights_bucket(shared_bare_cloud: LocalCloud) -> str:
    """Make the bucket into which tests stage weights, and return its name."""
    shared_bare_cloud.client("s3", region=REGION).create_bucket(Bucket=BUCKET)
    return BUCKET


@pytest.fixture
def staging(
    bare_cloud: LocalCloud, staged_weights_bucket: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Staging]:
    """Prepare to stage a model of a few small files; `indirect` parametrization gives other files."""
    name = f"s{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"
    with HubServer(MODEL, getattr(request, "param", FILES)) as hub, S3Recorder(bare_cloud.url) as s3:
        made = Staging(bare_cloud, hub, s3, tmp_path, name)
        made.write()
        yield made
