"""Rules over `model` and `serving`: engine and image, weights, environment."""

import re
from collections.abc import Iterator

from ..catalog.engines import engine, find_image, image_tags
from ..catalog.regions import container_accounts
from ..container_settings import NAMES, container_settings, derived_environment, image_version, is_read
from ..deployment import Deployment
from .finding import error, warning
from .nearest import nearest

_SECRET_NAME = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PAT|API_?KEY|ACCESS_KEY|PRIVATE_KEY)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"\bhf_[A-Za-z0-9]{8,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9]{16,}|\bA[SK]IA[0-9A-Z]{16}\b"
)
# LMI by the repository that AWS keeps it in, or by what its tags name after the version.
_LMI_IMAGE = re.compile(r"djl-inference:|-(lmi|deepspeed|fastertransformer|neuronx|tensorrtllm)")
_UPSTREAM_IMAGE = re.compile(
    r"/(text-generation-inference|vllm-openai|lmsysorg/sglang|ollama(/ollama)?|llama\.cpp)([:@]|$)"
)
_VERSION_IN_TAG = re.compile(r":(\d+)\.(\d+)\.\d+")
_FIRST_LMI_FOR_ASYNC = (0, 31)
# What the Hub gives out has a shape; anything else under these names only stands for it.
_HUB_TOKEN_NAME = re.compile(r"^(HF|HUGGING_?FACE)\w*TOKEN$")
_NO_SECRETS = {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN"}
_PLACEHOLDER = re.compile(r"[<>{}*]|\.\.\.|your|replace|x{5,}|^(hf_)?(hub_)?token$|^$", re.IGNORECASE)
_FREE = {"startup_timeout_in_seconds"}  # the model's own timeout may be shorter than SageMaker's
MOST_VARIABLES, MOST_BYTES = 100, 32 * 1024  # SageMaker's limits on the environment of a container


@error
def known_engine_version(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """`serving.version` is in the catalog."""
    serving = deployment.serving
    name, known = serving.version, engine(serving.engine)
    if name is not None and known.version(name) is None and known.name != "custom":
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
    region, version = deployment.region, image_version(deployment.serving)
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
    serving, version = deployment.serving, image_version(deployment.serving)
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


@warning
def weights_can_be_read(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The endpoint's role may read `model.weights`, and no other prefix."""
    for name in NAMES["model"]:
        uri = deployment.serving.environment.get(name, "")
        if uri.startswith("s3://") and not uri.startswith(deployment.model.weights or "-"):
            yield (
                f"serving.environment.{name}",
                f"{uri!r} can't be read by the endpoint's role; set model.weights to it instead.",
            )


@error
def isolation_needs_no_installation(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An own handler installs its requirements, and reads S3, over the network."""
    if deployment.hosting.network_isolation and deployment.serving.handler:
        yield (
            "hosting.network_isolation",
            "true keeps serving.handler from its packages and from S3; use false, or an engine's own handler.",
        )


@error
def key_needs_weights(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A key without weights decrypts nothing."""
    if deployment.model.weights_kms_key_arn and deployment.model.weights is None:
        yield (
            "model.weights_kms_key_arn",
            "has nothing to decrypt: model.weights is not set; set it or remove the key.",
        )


@warning
def revision_needs_hub(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A revision means nothing for weights in S3."""
    model = deployment.model
    if model.revision and model.weights:
        yield "model.revision", f"{model.revision!r} has no effect: the weights come from {model.weights}."


@error
def no_secret_in_environment(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The environment is readable for whoever may describe the model; a dynamic reference is expanded into it."""
    for name, value in deployment.serving.environment.items():
        if "{{resolve:" in value or _is_secret(name, value):
            yield (
                f"serving.environment.{name}",
                "looks like a secret, which anyone who may describe the model could read; "
                "copy gated weights to S3 once and set model.weights instead.",
            )


def _is_secret(name: str, value: str) -> bool:
    """By its shape; under a name that is not the Hub's, by not looking like something that stands for a secret."""
    if _SECRET_VALUE.search(value):
        return not _PLACEHOLDER.search(value)
    is_hub_token = _HUB_TOKEN_NAME.search(name) is not None
    is_named_so = _SECRET_NAME.search(name) is not None and name not in _NO_SECRETS
    return is_named_so and not is_hub_token and not _PLACEHOLDER.search(value)


@warning
def placeholder_in_environment(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """What stands for a token is none, and where it is replaced it becomes readable."""
    for name, value in deployment.serving.environment.items():
        stands_for_one = _SECRET_NAME.search(name) and name not in _NO_SECRETS and not _is_secret(name, value)
        if stands_for_one and "{{resolve:" not in value:
            yield (
                f"serving.environment.{name}",
                f"{value!r} stands for a secret, which does not belong here; name it in model.hub_token_secret_arn, or "
                "copy gated weights to S3 once and set model.weights.",
            )


@error
def environment_fits(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker's limits on number and size of all variables, ours included."""
    serving = deployment.serving
    environment = container_settings(deployment).environment
    if len(environment) > MOST_VARIABLES:
        ours = len(environment.keys() - serving.environment.keys())
        yield (
            "serving.environment",
            f"has {len(environment) - ours} variables beside {ours} of ours; SageMaker takes {MOST_VARIABLES}: "
            "move some into a file beside the weights.",
        )
    size = sum(len(name.encode()) + len(value.encode()) for name, value in environment.items())
    if size > MOST_BYTES:
        yield (
            "serving.environment",
            f"is {size:,} bytes; SageMaker takes {MOST_BYTES:,}: move long values into a file beside the weights.",
        )


@warning
def environment_wins(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A variable that we derive is set by hand, under its own or another name, to something else."""
    serving = deployment.serving
    bare = serving.model_copy(update={"environment": {}})
    ours = derived_environment(deployment.model_copy(update={"serving": bare}))
    version = image_version(serving)
    server = engine(version.engine if version else serving.engine).server
    setting_of = {name: setting for setting, names in NAMES.items() for name in names if is_read(name, server)}
    for name, value in serving.environment.items():
        setting = setting_of.get(name, "")
        word = next((ours[each] for each in NAMES.get(setting, (name,)) if each in ours), value)
        is_free = setting in _FREE or (setting == "tensor_parallel_degree" and serving.tensor_parallel_degree is None)
        if word != value and not is_free and name != "HF_TASK":  # which task it is, only its author knows
            yield (
                f"serving.environment.{name}",
                f"wins over {word!r}, which the deployment says or would set itself; remove one of them.",
            )
