"""Puts container images into the local registry, which all accounts share. The local SageMaker does not need them."""

from contextlib import suppress

from .cloud import LocalCloud


def put_image(cloud: LocalCloud, image: str, region: str) -> None:
    """Add an image, as if AWS had pushed it. image: `repository:tag`."""
    repository, _, tag = image.partition(":")
    ecr = cloud.client("ecr", region=region)
    with suppress(ecr.exceptions.RepositoryAlreadyExistsException):  # another deployment's image is there
        ecr.create_repository(repositoryName=repository)
    ecr.put_image(repositoryName=repository, imageManifest="{}", imageTag=tag)
