"""Fixtures shared by all tests; imports no CDK, so that unit tests need not wait for it."""

import hashlib
import json
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import ROOT, Stack, read_stacks, synthesize
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import deploy
from support.deployments.known_deployments import ACCOUNT_SETTINGS, SHIPPED_FILES, STAGED_FILE, VARIANT_FILES
from support.stacks.small_stacks import REGION, delete_stacks
from support.stacks.staging_runs import BUCKET, FILES, MODEL, Staging
from support.stand_ins.hub_server import HubServer
from support.stand_ins.s3_recorder import S3Recorder

assert not (ROOT / "constructs" / "__init__.py").exists(), "constructs/__init__.py hides the CDK's package of that name"

# A shell ignores SIGINT for background jobs, and children inherit that; some tests send Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadlines on shared machines; CI uses fixed examples, so that its failures can be repeated.
hypothesis.settings.register_profile("shared", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("ci", hypothesis.settings.get_profile("shared"), derandomize=True)
hypothesis.settings.load_profile("shared")


@pytest.fixture(scope="session")
def assembly() -> Path:
    """Every shipped deployment, every variant, the account settings and a staging, from one run of app.py."""
    files = map(str, [*SHIPPED_FILES.values(), *VARIANT_FILES])
    names = [*files, ACCOUNT_SETTINGS, f"slipway-staging-{STAGED_FILE}"]
    return synthesize(names, ROOT / "cdk.out" / "tests")


@pytest.fixture(scope="session")
def templates(assembly: Path) -> dict[str, dict[str, Any]]:
    """The templates by stack name."""
    return {stack.name: stack.template for stack in read_stacks(assembly)}


@pytest.fixture(scope="session")
def nag_report(assembly: Path) -> dict[str, Any]:
    """cdk-nag's findings, as synth wrote them."""
    report: dict[str, Any] = json.loads((assembly / "validation-report.json").read_text())
    return report


@pytest.fixture(scope="session")
def stacks(assembly: Path) -> dict[str, Stack]:
    """Every synthesized stack by name."""
    found = {stack.name: stack for stack in read_stacks(assembly)}
    for stack in found.values():
        mark_as_linted(stack)  # tests/templates/test_nag_and_lint.py lints them all
    return found


@pytest.fixture(scope="session")
def shared_cloud(stacks: dict[str, Stack]) -> Iterator[LocalCloud]:
    """One local cloud for the whole run, with the account settings deployed."""
    with LocalCloud(port=free_port()) as running:
        running.wait_until_ready()
        deploy(running, stacks[ACCOUNT_SETTINGS])
        yield running


@pytest.fixture(scope="module")
def cloud(shared_cloud: LocalCloud, stacks: dict[str, Stack]) -> Iterator[LocalCloud]:
    """The shared cloud; the stacks that a module deploys are deleted at its end."""
    yield shared_cloud
    for region in {stack.region for stack in stacks.values()}:
        delete_stacks(shared_cloud, region, but=[ACCOUNT_SETTINGS])


@pytest.fixture(scope="session")
def shared_bare_cloud() -> Iterator[LocalCloud]:
    """A local cloud without our stacks."""
    with LocalCloud(port=free_port()) as running:
        running.wait_until_ready()
        yield running


@pytest.fixture(scope="module")
def bare_cloud(shared_bare_cloud: LocalCloud) -> Iterator[LocalCloud]:
    """A local cloud without our stacks, for tests of the cloud itself; each module's stacks are deleted at its end."""
    yield shared_bare_cloud
    delete_stacks(shared_bare_cloud, REGION)


@pytest.fixture(scope="module")
def apis(cloud: LocalCloud, stacks: dict[str, Stack]) -> Callable[[str], ApiClient]:
    """The API of a deployment by its name, deployed when a module first asks for it."""

    @cache
    def api(name: str) -> ApiClient:
        return connect(cloud, deploy(cloud, stacks[name]), stacks[name].region)

    return api


@pytest.fixture(scope="session")
def staged_weights_bucket(shared_bare_cloud: LocalCloud) -> str:
    """The bucket into which tests stage weights."""
    shared_bare_cloud.client("s3", region=REGION).create_bucket(Bucket=BUCKET)
    return BUCKET


@pytest.fixture
def staging(
    bare_cloud: LocalCloud, staged_weights_bucket: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Staging]:
    """A staging of a model of a few small files; `indirect` parametrization gives other files."""
    name = f"s{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"
    with HubServer(MODEL, getattr(request, "param", FILES)) as hub, S3Recorder(bare_cloud.url) as s3:
        made = Staging(bare_cloud, hub, s3, tmp_path, name)
        made.write()
        yield made
