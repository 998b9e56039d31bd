"""Prepares the local cloud as an account that is ready for a deploy: bootstrapped, with images and the log role."""

import json
import os
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path

from llm_hosting import ACCOUNT_SETTINGS
from local_cloud.assembly import DEFAULT_REGION, read_stacks, synthesize
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import deploy
from local_cloud.registry import put_image
from slipway.checking.check import check
from slipway.shared.aws_clients import is_local
from tools.smoke.asking.stacks import ROOT

CLOCK_SPEED = 4
_LOOK_INTERVAL_IN_SECONDS = 0.5


@contextmanager
def local_account(deployments: Sequence[Path]) -> Iterator[None]:
    """Run a local cloud, to which the environment points. deployments: files whose images its registry holds.

    If the environment points to a local cloud that was prepared so, take that one.
    """
    if is_local(os.environ.get("AWS_ENDPOINT_URL", "")):
        yield
        return
    with LocalCloud(port=free_port(), clock_speed=CLOCK_SPEED) as cloud:
        with chdir(ROOT):  # the CDK's app is there, wherever the run's folder is
            settings = read_stacks(synthesize([ACCOUNT_SETTINGS]))
        cloud.wait_until_ready()
        for stack in settings:
            deploy(cloud, stack)
        for path in deployments:
            put_image(cloud, check(path, ()).report.image, DEFAULT_REGION)
        os.environ |= {
            "AWS_ENDPOINT_URL": cloud.url,
            "AWS_ACCESS_KEY_ID": cloud.deployer.access_key_id,
            "AWS_SECRET_ACCESS_KEY": cloud.deployer.secret_access_key,
            "AWS_REGION": DEFAULT_REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        os.environ.pop("AWS_PROFILE", None)
        os.environ.pop("AWS_SESSION_TOKEN", None)
        with _hurrying(cloud):
            yield


@contextmanager
def _hurrying(cloud: LocalCloud) -> Iterator[None]:
    """Put the clock forward whenever an update waits for it. Done always, every sweep would be due at once."""
    over = threading.Event()

    def hurry() -> None:
        while not over.wait(_LOOK_INTERVAL_IN_SECONDS):
            with urllib.request.urlopen(f"{cloud.url}/_slipway/clock", timeout=60) as response:
                is_awaited = json.load(response)["is_awaited"]
            if is_awaited:
                cloud.advance(60)

    hurrying = threading.Thread(target=hurry)
    hurrying.start()
    try:
        yield
    finally:
        over.set()
        hurrying.join()
