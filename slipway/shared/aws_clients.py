"""boto3 clients of one region."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

Clients = Callable[[str], Any]  # a boto3 client by the name of its service

_LOOPBACK = ("127.0.0.1", "localhost")


def local_cloud(clients: Clients) -> str | None:
    """The URL of the local cloud that answers in place of AWS; None on AWS."""
    url = str(clients("cloudformation").meta.endpoint_url)
    return url if is_local(url) else None


def is_local(url: str) -> bool:
    """Return whether the local cloud is meant, not AWS."""
    return urlsplit(url).hostname in _LOOPBACK


def region_option(region: str) -> str:
    """Return the option for a command in this region; empty if AWS_REGION says the same."""
    return "" if os.environ.get("AWS_REGION") == region else f" --region {region}"


def clients_in(region: str | None, credentials: Mapping[str, str] | None = None) -> Clients:
    """Return a function that makes the region's clients, each on first use; threads may share it.

    region: None = AWS_REGION, else boto3's. credentials: as STS answers them; None = boto3's own.
    """

    import boto3  # a quarter of a second, which a check without --account saves

    keys = ("AccessKeyId", "SecretAccessKey", "SessionToken")
    session = boto3.Session(*(credentials[key] for key in keys) if credentials else ())
    lock = Lock()  # a session makes one client at a time

    @cache
    def made(service: str) -> Any:
        # boto3 itself does not read AWS_REGION.
        return session.client(service, region_name=region or os.environ.get("AWS_REGION") or None)

    def client(service: str) -> Any:
        with lock:
            return made(service)

    return client
