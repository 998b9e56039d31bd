"""Reads templates also from addresses that have the bucket in the host, as consoles and `slipway render` write them."""

import re
from typing import Any

from local_cloud.emulator.core import ministack

_helpers = ministack.internals("ministack.services.cloudformation.helpers", "_resolve_document")

_OF_BUCKET = re.compile(r"https://(?P<bucket>[^/]+)\.s3(?P<rest>[.-][^/]*)?\.amazonaws\.com(\.cn)?/")


def install() -> None:
    original = _helpers._resolve_document

    def resolve(params: dict[str, Any], body_key: str, url_key: str, label: str) -> Any:
        given = params.get(url_key)
        url = "".join(given) if given else ""
        if found := _OF_BUCKET.match(url):
            url = f"https://s3.amazonaws.com/{found['bucket']}/{url[found.end() :]}"
            params = {**params, url_key: [url] if isinstance(given, list) else url}
        return original(params, body_key, url_key, label)

    _helpers._resolve_document = resolve
