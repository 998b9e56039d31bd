"""Reads the facts of a deployment's LoRA adapters for its lock."""

import os
from dataclasses import asdict
from typing import Any

import boto3

from llm_hosting.deployment.model import Deployment
from slipway.locking.file_summary import summary
from slipway.locking.model_files import BucketFiles, HubFiles, ModelFiles
from slipway.staging.hub_repository import HubRepository
from slipway.staging.stage import hub_token
from slipway.staging.weights_prefix import WeightsPrefix, bucket_region
from slipway.weights.adapter import FILES, read_adapter


def adapter_facts(deployment: Deployment) -> dict[str, dict[str, Any]]:
    """Return the facts of each adapter by its name, as `AdapterLock` holds them.

    Raises BrokenWeightsError for files that are no whole adapter, HubError, PrefixError or boto3's errors.
    """
    return {name: _facts(deployment, source) for name, source in sorted(deployment.model.adapters.items())}


def _facts(deployment: Deployment, source: str) -> dict[str, Any]:
    files = _files(deployment, source)
    adapter = read_adapter(files, {file.path: file.size for file in files.files})
    used = files.with_checksums([file for file in files.files if file.path in FILES])
    return {"source": source, "commit": files.commit, **asdict(adapter), "files": summary(used)}


def _files(deployment: Deployment, source: str) -> ModelFiles:
    if not source.startswith("s3://"):
        repository, _, revision = source.partition("@")
        return HubFiles(HubRepository(repository, hub_token(deployment.model)), revision or "main")
    region = deployment.region or os.environ.get("AWS_REGION")
    there = bucket_region(boto3.client("s3", region_name=region), source[5:].partition("/")[0])
    prefix = WeightsPrefix(boto3.client("s3", region_name=there), source, None)
    return BucketFiles(prefix, prefix.manifest())
