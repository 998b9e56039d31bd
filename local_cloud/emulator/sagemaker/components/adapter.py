"""The life of an adapter component: a LoRA adapter that the copies of its base component load."""

import shutil
from pathlib import Path
from typing import Any

from local_cloud.emulator.core.lifecycle import Lifecycle
from local_cloud.emulator.sagemaker.components.artifact import fetch_adapter
from local_cloud.emulator.sagemaker.components.component import Component
from local_cloud.emulator.sagemaker.containers.instance import ContainerStartError


class Adapter(Lifecycle):
    """One adapter of a base component, in a folder that all copies read."""

    def __init__(self, name: str, arn: str, tags: list[dict[str, str]], base: Component, url: str) -> None:
        super().__init__(name, arn, tags)
        self.base, self.url = base, url
        self._link = Path(base.adapters.name, name)
        self._fetched: Path | None = None

    @property
    def is_idle(self) -> bool:
        return self.status in ("InService", "Failed")

    def start(self) -> None:
        self._in_background("Creating", self._load, self.url, "Failed")

    def update(self, url: str) -> None:
        """Replace the artifact; if the new one can't be loaded, the old one stays in service."""
        self._in_background("Updating", self._load, url, self.status)

    def delete(self) -> None:
        self._in_background("Deleting", self._unload)

    def describe(self) -> dict[str, Any]:
        container = {"ArtifactUrl": self.url}
        return {
            "InferenceComponentName": self.name,
            "InferenceComponentArn": self.arn,
            "EndpointName": self.base.where["endpoint"],
            "VariantName": self.base.where["variant"],
            "InferenceComponentStatus": self.status,
            "Specification": {"BaseInferenceComponentName": self.base.name, "Container": container},
            "CreationTime": self.created_at,
            "LastModifiedTime": self.modified_at,
            **({"FailureReason": self.failure_reason} if self.failure_reason else {}),
        }

    def _load(self, url: str, after_failure: str) -> None:
        model = self.base.model
        try:
            fetched = fetch_adapter(model["ExecutionRoleArn"], url, model["PrimaryContainer"].get("Environment", {}))
        except ContainerStartError as error:
            self._enter(after_failure, str(error))
            return
        old, self._fetched = self._fetched, fetched
        new_link = self._link.with_name(f".{self.name}")
        new_link.symlink_to(fetched)
        new_link.replace(self._link)  # at once: requests always find one of the two
        _remove(old)
        self.url = url
        self._enter("InService")

    def _unload(self) -> None:
        self._link.unlink(missing_ok=True)
        _remove(self._fetched)
        self._enter("Deleted")


def _remove(folder: Path | None) -> None:
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
