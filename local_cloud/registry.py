"""Container images in the local registry, which is one for all accounts. SageMaker here starts without them."""

from .cloud import LocalCloud


def put_image(cloud: LocalCloud, image: str, region: str) -> None:
    """As if AWS had pushed it. image: repository:tag."""
    repository, _, tag = image.partition(":")
    ecr = cloud.client("ecr", region=region)
    ecr.create_repository(repositoryName=repository)
    ecr.put_image(repositoryName=repository, imageManifest="{}", imageTag=tag)
