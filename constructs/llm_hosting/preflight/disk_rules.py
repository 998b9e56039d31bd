"""Rules over the disk that weights are downloaded to."""

from collections.abc import Iterator

from ..deployment import Deployment
from .finding import error, warning
from .memory import GB, in_gb, margin, weights_in_files
from .plan import Plan, plans

ROOT_DISK_IN_GB = 30


@error
def weights_fit_disk(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Weights are downloaded before they are loaded."""
    for plan in plans(deployment):
        size, disk = weights_in_files(plan), _disk_in_gb(plan)
        sure = margin(plan)
        if size is not None and disk is not None and size > disk * GB * sure:
            volume = plan.instance.volume_size_allowed
            fix = "set hosting.volume_size_in_gb above it" if volume else "use a larger type of the family"
            yield (
                "hosting.volume_size_in_gb" if volume else "hosting.instance_type",
                f"{disk} GB of disk on {plan.instance.type} do not hold the {in_gb(size)} of {plan.model_id}; {fix}.",
            )


@warning
def weights_need_a_volume(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """AWS: above about 30 GB, types without a disk of their own need a volume (large model hosting)."""
    for plan in plans(deployment):
        size = weights_in_files(plan)
        if plan.instance.volume_size_allowed and _disk_in_gb(plan) is None and (size or 0) > ROOT_DISK_IN_GB * GB:
            yield (
                "hosting.volume_size_in_gb",
                f"is not set, and SageMaker's default of about {ROOT_DISK_IN_GB} GB on {plan.instance.type} does not "
                f"hold the {in_gb(size or 0)} of {plan.model_id}; set it above them.",
            )
            return


def _disk_in_gb(plan: Plan) -> int | None:
    return plan.instance.local_nvme_in_gb or plan.deployment.hosting.volume_size_in_gb
