"""Rules over the container image: version, region, tag, and whether it answers as SageMaker asks."""

import re
from collections.abc import Iterator

from ..catalog.engines import engine, find_image, image_tags
from ..catalog.regions import container_accounts
from ..container_settings import image_version, machine
from ..deployment import Deployment
from .finding import error, warning
from .nearest import nearest

# LMI by the repository that AWS keeps it in, or by what its tags name after the version.
_LMI_IMAGE = re.compile(r"djl-inference:|-(lmi|deepspeed|fastertransformer|neuronx|tensorrtllm)")
_UPSTREAM_IMAGE = re.compile(
    r"/(text-(generation|embeddings)-inference|vllm-openai|lmsysorg/sglang|ollama(/ollama)?|llama\.cpp)"
    r"([:@](?!.*sagemaker)|$)"
)
_VERSION_IN_TAG = re.compile(r":(\d+)\.(\d+)\.\d+")
_FIRST_LMI_FOR_ASYNC = (0, 31)


@error
def known_engine_version(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """`serving.version` is in the catalog."""
    serving, types = deployment.serving, deployment.hosting.instance_types
    name, known, here = serving.version, engine(serving.engine), machine(deployment.hosting)
    if name is None or known.name == "custom" or known.version(name, here):
        return
    if others := known.named(name):
        made_for = ", ".join(sorted({f"{each.platform} ({each.arch})" for each in others}))
        if here:  # or the type is misspelt, which another rule says
            yield (
                "serving.version",
                f"{name!r} of {known.name} has images for {made_for}, and none for {types[0]}; use another type.",
            )
    else:
        yield "serving.version", f"{name!r} is not a version of {known.name}; use {nearest(name, known.versions)}."


@error
def region_has_images(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The region has an account with AWS's images."""
    region = deployment.region
    if region is not None and region not in container_accounts() and deployment.serving.image_uri is None:
        yield "region", f"{region!r} has no known account of AWS images; use {nearest(region, container_accounts())}."


@error
def image_is_in_region(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker pulls images from the endpoint's own region only."""
    uri, region = deployment.serving.image_uri, deployment.region
    if uri and region and ".dkr.ecr.${AWS::Region}." not in uri and f".dkr.ecr.{region}." not in uri:
        yield (
            "serving.image_uri",
            f"{uri!r} is not in the deployment's region {region}; copy the image there and write ${{AWS::Region}} "
            "for the region.",
        )
    account, literal = _registry(uri or "")
    right = container_accounts().get(literal)
    if right and account != right and account in container_accounts().values():
        yield (
            "serving.image_uri",
            f"{uri!r} names AWS's image account of another region; in {literal} it is {right}.",
        )


@warning
def image_tag_is_known(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A tag in AWS's own registry that no list has is likely to be misspelt."""
    uri = deployment.serving.image_uri or ""
    account, _ = _registry(uri)
    if account in container_accounts().values() and ":" in uri and find_image(uri) is None:
        repository, _, tag = uri.rpartition("/")[2].partition(":")
        tags = image_tags(repository)
        if tags:
            yield (
                "serving.image_uri",
                f"{tag!r} is not among the {len(tags)} tags of {repository} in the catalog; if it is not newer, use "
                f"{nearest(tag, tags)}.",
            )


def _registry(uri: str) -> tuple[str, str]:
    """Account and region of an image's URI."""
    named = re.match(r"(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.", uri)
    return (named[1], named[2]) if named else ("", "")


@warning
def image_is_pinned(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Without a tag it is `latest`: the next instance may run another image than the last one."""
    uri = deployment.serving.image_uri or ""
    if uri and not re.search(r"[:@]", uri.rpartition("/")[2]):
        yield "serving.image_uri", f"{uri!r} has no tag, so it is whatever `latest` is then; add one, or a digest."


@warning
def image_answers_sagemaker(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker starts `serve` and asks /ping and /invocations on port 8080 (text-generation-inference#885)."""
    uri = deployment.serving.image_uri or ""
    if _UPSTREAM_IMAGE.search(uri) and find_image(uri) is None:
        yield (
            "serving.image_uri",
            f"{uri!r} looks like its makers' own image, most of which do not answer as SageMaker asks (`serve`, port "
            "8080, /ping, /invocations); use AWS's image of the engine, or add an entry point that does.",
        )


@warning
def image_is_published_there(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Regions get images at different times, by the lists of AWS's own SDK."""
    region, version = deployment.region, image_version(deployment)
    if deployment.serving.image_uri or region not in container_accounts() or version is None:
        return
    if version.regions is not None and region not in version.regions:
        yield (
            "region",
            f"{region!r} is not among the {len(version.regions)} regions that AWS lists for {version.engine} "
            f"{version.label}; use another version, or copy the image there and set serving.image_uri.",
        )


@warning
def image_uri_wins(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A version beside an image of one's own has little effect."""
    serving = deployment.serving
    if serving.image_uri and serving.version:
        yield (
            "serving.version",
            f"{serving.version!r} only says which request bodies the image takes: serving.image_uri names the image.",
        )


@warning
def lmi_answers_async(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Before 0.31.0 LMI's answers lack the Content-Length that async endpoints need (djl-serving#2567); some ran."""
    serving, version = deployment.serving, image_version(deployment)
    uri = serving.image_uri or f"djl-inference:{version.tag if version else ''}"
    number = _VERSION_IN_TAG.search(uri) if _LMI_IMAGE.search(uri) else None
    is_lmi = serving.image_uri is not None or serving.engine.startswith("lmi-")
    is_old = number and (int(number[1]), int(number[2])) < _FIRST_LMI_FOR_ASYNC
    if deployment.hosting.mode == "async" and is_lmi and is_old:
        yield (
            "serving.image_uri" if serving.image_uri else "serving.version",
            f"{serving.image_uri or (version and version.label)!r} is an LMI image whose answers were seen to be lost "
            "with hosting.mode: async; use 0.31.0 or newer, or realtime.",
        )
