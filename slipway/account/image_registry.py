"""Checks that the registry from which SageMaker pulls has the container's image."""

import re
from collections.abc import Iterator

from botocore.exceptions import ClientError

from llm_hosting.catalog.regions import container_accounts
from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_URI = re.compile(
    r"(?P<account>[0-9]{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.[^/]+/(?P<repository>[^:@]+)"
    r"(:(?P<tag>[^@]+))?(@(?P<digest>.+))?"
)
_ABSENT = ("RepositoryNotFoundException", "ImageNotFoundException")


def image_in_registry(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the registry has the tag or digest, by the same ECR call that SageMaker makes."""
    own = deployment.serving.image_uri
    owner = container_accounts(report.image.partition(":")[0]).get(account.region)
    if not own and owner is None:
        yield Finding("region", f"no registry of AWS images is known in {account.region}", "deploy in another region")
        return
    uri = own or f"{owner}.dkr.ecr.{account.region}.amazonaws.com/{report.image}"
    uri = uri.replace("${AWS::AccountId}", account.id).replace("${AWS::Region}", account.region)
    image = _URI.fullmatch(uri)
    if image is None or image["region"] != account.region:
        return  # a rule has refused it already
    tag = image["tag"] or "latest"
    wanted = {"imageDigest": image["digest"]} if image["digest"] else {"imageTag": tag}
    try:
        request = {"registryId": image["account"], "repositoryName": image["repository"], "imageIds": [wanted]}
        is_there = bool(account.clients("ecr").batch_get_image(**request)["images"])
    except ClientError as error:
        if error.response["Error"]["Code"] not in _ABSENT:
            raise
        is_there = False
    if not is_there:
        fix = "push it, or name another" if own else "use another version, or copy an image and set serving.image_uri"
        yield Finding(
            "serving.image_uri" if own else "serving.version",
            f"the registry of account {image['account']} in {account.region} has no {image['repository']} "
            f"{image['digest'] or tag}",
            fix,
        )
