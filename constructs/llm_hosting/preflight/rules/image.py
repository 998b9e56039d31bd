"""Rules over the container image: version, region, tag, and whether it answers SageMaker."""

import re
from collections.abc import Iterator

from ...catalog.engines import engine, find_image, image_tags
from ...catalog.newer_version import newer_version
from ...catalog.regions import all_container_accounts, container_accounts
from ...deployment.finding import Finding
from ...deployment.nearest import nearest
from ...resolution import Resolution
from .rule import error, laws_of, warning
from .suitable_type import SUCH_AS

_UPSTREAM_IMAGE = re.compile(
    r"/(text-(generation|embeddings)-inference|vllm-openai|lmsysorg/sglang|ollama(/ollama)?|llama\.cpp)"
    r"([:@](?!.*sagemaker)|$)"
)


@error
def known_engine_version(resolution: Resolution) -> Iterator[Finding]:
    """`serving.version` is in the catalog, or names a newer image of a known form."""
    serving, placements = resolution.deployment.serving, resolution.placements
    name, known = serving.version, engine(serving.engine)
    machine = (placements[0].instance.kind, placements[0].instance.arch) if placements else None
    if name is None or known.name == "custom" or known.version(name, machine) or newer_version(known, name, machine):
        return
    if others := known.named(name):
        made_for = ", ".join(sorted({f"{each.platform} ({each.arch})" for each in others}))
        if placements:  # if the type is misspelt, another rule says so
            yield Finding(
                "serving.version",
                f"{name!r} of {known.name} has images for {made_for}, but none for {placements[0].instance.type}",
                f"use another type{SUCH_AS}",
            )
    else:
        problem = f"{name!r} is not a version of {known.name}"
        newer = "" if known.legacy else ", the whole tag of a newer image"
        fix = f"use {nearest(name, known.versions)}{newer}, or add it to catalog/engines/{known.name}.json"
        yield Finding("serving.version", problem, fix)


@warning
def version_is_in_catalog(resolution: Resolution) -> Iterator[Finding]:
    """What an image newer than the catalog takes and runs is known of the version before it only."""
    name, version = resolution.deployment.serving.version, resolution.container.version
    if version and version.facts_from and not resolution.deployment.hosting.runs_on_machines:
        formed = "" if name == version.tag else f", and the image is named like that one: {resolution.image}"
        yield Finding(
            "serving.version",
            f"{name!r} is newer than the catalog: its facts are taken from {version.facts_from}{formed}",
            f"ask AWS for it by `slipway doctor <name>`, or add the version to catalog/engines/{version.engine}.json",
        )


@error
def region_has_images(resolution: Resolution) -> Iterator[Finding]:
    """The region has an account with AWS's images."""
    region = resolution.deployment.region
    own_image = resolution.deployment.serving.image_uri is not None or resolution.deployment.hosting.runs_on_machines
    accounts = container_accounts(_repository(resolution.image))
    if region is not None and region not in accounts and not own_image:
        problem = f"{region!r} has no AWS account with images in the catalog"
        yield Finding("region", problem, f"use {nearest(region, accounts)}")


@error
def image_is_in_region(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker pulls images from the endpoint's own region only."""
    uri, region = resolution.deployment.serving.image_uri, resolution.deployment.region
    if uri and region and ".dkr.ecr.${AWS::Region}." not in uri and f".dkr.ecr.{region}." not in uri:
        yield Finding(
            "serving.image_uri",
            f"{uri!r} is not in the deployment's region {region}",
            "copy the image there and write ${AWS::Region} for the region",
        )
    account, literal = _registry(uri or "")
    right = container_accounts(_repository(uri or "")).get(literal)
    if right and account != right and account in all_container_accounts():
        yield Finding(
            "serving.image_uri", f"{uri!r} names AWS's image account of another region", f"in {literal} use {right}"
        )


@warning
def image_uri_is_sound(resolution: Resolution) -> Iterator[Finding]:
    """An own image has a tag that exists, and answers SageMaker: on port 8080 to /ping and /invocations."""
    yield from laws_of(resolution, image_tag_is_known, image_is_pinned, image_answers_sagemaker)


def image_tag_is_known(resolution: Resolution) -> Iterator[Finding]:
    """A tag of AWS's own registry that is not in the catalog is probably misspelt."""
    uri = resolution.deployment.serving.image_uri or ""
    account, _ = _registry(uri)
    if account not in all_container_accounts() or ":" not in uri or find_image(uri) is not None:
        return
    repository, _, tag = uri.rpartition("/")[2].partition(":")
    if tags := image_tags(repository):
        problem = f"{tag!r} is not among the {len(tags)} tags of {repository} in the catalog"
        yield Finding(
            "serving.image_uri", problem, f"use {nearest(tag, tags)}, unless the tag is newer than the catalog"
        )


def image_is_pinned(resolution: Resolution) -> Iterator[Finding]:
    """An image without a tag is `latest`: the next instance may run another image than the last one."""
    uri = resolution.deployment.serving.image_uri or ""
    if uri and not re.search(r"[:@]", uri.rpartition("/")[2]):
        problem = f"{uri!r} has no tag, so each start takes the `latest` of that moment"
        yield Finding("serving.image_uri", problem, "add a tag, or a digest")


def image_answers_sagemaker(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker starts `serve` and asks /ping and /invocations on port 8080 (text-generation-inference#885)."""
    uri = resolution.deployment.serving.image_uri or ""
    if _UPSTREAM_IMAGE.search(uri) and find_image(uri) is None:
        yield Finding(
            "serving.image_uri",
            f"{uri!r} looks like its makers' own image, which does not answer SageMaker (`serve`, port 8080, /ping, "
            "/invocations)",
            "use AWS's image of the engine, or add an entry point that answers",
        )


@warning
def image_is_published_there(resolution: Resolution) -> Iterator[Finding]:
    """Regions get an image at different times; the lists of AWS's own SDK name the regions."""
    region, version = resolution.deployment.region, resolution.container.version
    if resolution.deployment.serving.image_uri or region not in container_accounts() or version is None:
        return
    if version.regions is not None and region not in version.regions:
        yield Finding(
            "region",
            f"{region!r} is not among the {len(version.regions)} regions that AWS lists for {version.engine} "
            f"{version.label}",
            "use another version, or copy the image there and set serving.image_uri",
        )


def _repository(image: str) -> str:
    """Return the repository in an image's name or URI."""
    return re.split(r"[:@]", image.rpartition("/")[2])[0]


def _registry(uri: str) -> tuple[str, str]:
    """Return the account and the region in the URI of an image; empty = it names none."""
    named = re.match(r"(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.", uri)
    return (named[1], named[2]) if named else ("", "")
