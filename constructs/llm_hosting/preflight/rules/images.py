"""Rules over images in requests: models and engines that take them, their number, and where they come from."""

from collections.abc import Iterator

from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...resolution import Resolution
from ...resolution.images import takes_images
from .rule import error, warning

_KEEPS_TO_HOSTS_FROM = "0.11.0"
_SMALL_PHOTO_IN_KB = 300


@error
def images_fit_model(resolution: Resolution) -> Iterator[Finding]:
    """Only vision-language models take images, on engines that read them in chats; a handler has its own form."""
    deployment, container = resolution.deployment, resolution.container
    asked = {
        "serving.images_per_prompt": deployment.serving.images_per_prompt,
        "api.fetch_urls": deployment.api.fetch_urls,
    }
    for field in (name for name, value in asked.items() if value):
        if container.has_own_code:
            yield Finding(field, "is refused with code of your own, which reads images as it likes", "remove it")
        elif "messages" not in resolution.bodies:
            problem = f"is refused with the engine {deployment.serving.engine}, which takes no chats with images"
            yield Finding(field, problem, "remove it, or use lmi-vllm or vllm")
        elif takes_images(container) is False:
            problem = f"is refused, because {container.model_id} takes texts only"
            yield Finding(
                field, problem, "remove it, or use a vision-language model, such as Qwen/Qwen3-VL-4B-Instruct"
            )


@error
def images_fit_context(resolution: Resolution) -> Iterator[Finding]:
    """The tokens of all images of a request, and its answer, share the context."""
    container, most = resolution.container, resolution.deployment.serving.images_per_prompt
    vision = container.shape.vision if container.shape else None
    if not (vision and container.context):
        return
    least = (most or 1) * vision.least_tokens
    if most != 0 and least >= container.context:
        field = "serving.images_per_prompt" if most else "serving.max_model_len"
        problem = f"{most or 1} images have at least {least} tokens, and the context has {container.context}"
        yield Finding(field, problem, "use fewer images, or a larger serving.max_model_len")


@warning
def largest_image_fits_context(resolution: Resolution) -> Iterator[Finding]:
    """The API and the engine refuse an image that has more tokens than the context."""
    container = resolution.container
    vision = container.shape.vision if container.shape and takes_images(container) else None
    if vision and container.context and vision.least_tokens < container.context <= vision.most_tokens:
        problem = f"{container.context} is less than the {vision.most_tokens} tokens of the largest image"
        fix = f"use more than {vision.most_tokens}, or serving.images_per_prompt: 0 for texts only"
        yield Finding("serving.max_model_len", problem, f"{fix}; callers may also send smaller images")


@warning
def body_holds_photos(resolution: Resolution) -> Iterator[Finding]:
    """A deployment whose file asks for images needs a body for them; base64 adds a third to a file's size."""
    deployment = resolution.deployment
    if deployment.serving.images_per_prompt and deployment.api.max_body_in_kb < _SMALL_PHOTO_IN_KB:
        problem = f"{deployment.api.max_body_in_kb} is too small for most photos, which come as data: URLs"
        yield Finding("api.max_body_in_kb", problem, "use up to 2900")


@error
def images_are_fetched_safely(resolution: Resolution) -> Iterator[Finding]:
    """A container that follows redirects can be led to any address; vLLM follows none if it is told so."""
    deployment, container = resolution.deployment, resolution.container
    if not deployment.api.fetch_urls:
        return
    if deployment.hosting.network_isolation:
        problem = "is refused with hosting.network_isolation: true, which leaves the container without network"
        yield Finding("api.fetch_urls", problem, "remove one of them")
    elif not container.runs_vllm or not container.vllm or is_before(container.vllm, _KEEPS_TO_HOSTS_FROM):
        name = f"{container.engine} {container.label or ''}".strip()
        problem = f"is refused with {name}, which follows redirects from a listed host to any address"
        fix = f"remove it, so that callers send data: URLs, or use an image with vLLM {_KEEPS_TO_HOSTS_FROM} or newer"
        yield Finding("api.fetch_urls", problem, fix)
    elif container.environment.get("VLLM_MEDIA_URL_ALLOW_REDIRECTS", "0") != "0":
        field = "serving.environment.VLLM_MEDIA_URL_ALLOW_REDIRECTS"
        yield Finding(field, "lets a listed host of api.fetch_urls redirect to any address", "remove it")
