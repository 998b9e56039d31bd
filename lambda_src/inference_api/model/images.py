"""Checks the images of a chat: no bomb, and no address that the container may not ask."""

import base64
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from inference_api.model.image_header import Header, read_header
from inference_api.model.image_tokens import tokens_of_image
from inference_api.shared.errors import ApiError
from inference_api.shared.request_rules import ImageRules

# Pillow, with which engines decode, calls an image with more pixels a bomb (MAX_IMAGE_PIXELS): 268 MB once decoded.
MOST_PIXELS = 89_478_485
_DETAILS = (None, "auto", "low", "high")
_KINDS = ("image/png", "image/jpeg", "image/webp", "image/gif")
_MEDIA = re.compile(r"(image|video|audio)(_url|_pil|_embeds)?|input_(image|audio|video)|file")
# A host and a path, and nothing that two parsers might read in two ways.
_HTTPS = re.compile(r"https://([a-z0-9.-]+)(/[!#-;=?-\[\]_a-z|~]*)?", re.IGNORECASE | re.ASCII)


def check_images(document: Mapping[str, Any], rules: ImageRules | None) -> None:
    """Check each part of a chat that is no text, and each image that a text names.

    rules: None = the model takes texts only. Raises ApiError 400.
    """
    found, tokens = 0, 0
    for field, part in _parts(document):
        if rules is None:
            message = f"{field}: the model takes no images, sound or video; remove it, or ask a vision-language model."
            raise ApiError("invalid_input", message, field=field)
        for name in part:
            if name.endswith(("_embeds", "_pil")):
                raise _refused(f"{field}.{name}", "holds no file, which alone can be checked; send an image_url")
            if name.endswith("_url"):
                size = _check_url(_url_of(part[name], f"{field}.{name}"), rules, f"{field}.{name}", name == "image_url")
                tokens += _tokens(size, rules, f"{field}.{name}")
                found += name == "image_url"
    if rules is None:
        return
    for url in _in_texts(document) if rules.in_texts else ():
        field = "inputs" if "inputs" in document else "messages"
        tokens += _tokens(_check_url(url, rules, field, True), rules, field)
        found += 1
    if rules.most is not None and found > rules.most:
        message = f"messages: has {found} images; this deployment takes at most {rules.most} in a request. Send fewer."
        raise ApiError("invalid_input", message, field="messages")
    if rules.context and tokens >= rules.context:
        message = (
            f"messages: the images have {tokens} tokens, and prompt and answer together at most {rules.context}; send "
            "fewer or smaller images."
        )
        raise ApiError("context_length_exceeded", message, field="messages")


def image_tokens(document: Mapping[str, Any], rules: ImageRules | None) -> int:
    """Return the tokens of the images in a checked chat. An image elsewhere, which the container loads, counts 0."""
    if rules is None:
        return 0
    urls = [_url_of(part["image_url"], field) for field, part in _parts(document) if "image_url" in part]
    sizes = (read_header(_decoded(url, "messages")) for url in urls if _is_data(url))
    return sum(_tokens(size, rules, "messages") for size in sizes)


def _parts(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and the part of each part of a chat that holds more than text."""
    messages = document.get("messages")
    for number, message in enumerate(messages if isinstance(messages, list) else ()):
        content = message.get("content") if isinstance(message, dict) else None
        for index, part in enumerate(content if isinstance(content, list) else [content]):
            if isinstance(part, dict) and any(map(_MEDIA.fullmatch, map(str, (*part, part.get("type"))))):
                yield f"messages[{number}].content[{index}]", part


def _in_texts(document: Mapping[str, Any]) -> Mapping[str, None]:
    """Return the addresses of images in Markdown, ![...](address), which TGI loads out of the whole prompt.

    TGI joins the parts of a message, and templates add tools and more. So an image may start in a text and end in
    another.
    """
    of_messages = "".join(_strings(document.get("messages"), ("content", "text")))
    found = pairwise((of_messages + "".join(_strings(document))).split("]"))
    return {
        after[1:].partition(")")[0].strip(): None for before, after in found if "![" in before and after.startswith("(")
    }


def _strings(value: Any, names: tuple[str, ...] | None = None) -> Iterator[str]:
    """Yield the strings in a value, within objects only those under the names; None = under all."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        members = value if isinstance(value, list) else [value[name] for name in names or value if name in value]
        for each in members:
            yield from _strings(each, names)


def _url_of(given: Any, field: str) -> str:
    """Return the address. OpenAI's form is an object; engines take a plain string, too."""
    url = given.get("url") if isinstance(given, dict) else given
    if not isinstance(url, str) or not url:
        raise _refused(field, 'must be an object with "url", a data: URL')
    if isinstance(given, dict) and given.get("detail") not in _DETAILS:
        raise _refused(f"{field}.detail", f"{str(given['detail'])[:40]!r} is not allowed; use auto, low or high")
    return url


def _check_url(url: str, rules: ImageRules, field: str, is_image: bool) -> Header | None:
    """Return the header of an image that the URL holds; None = the container loads it, or it is no image."""
    if _is_data(url):
        data = _decoded(url, field)
        return _check_image(data, field) if is_image else None
    scheme = url.partition(":")[0].lower()[:10]
    if scheme not in ("http", "https"):
        raise _refused(field, f"{scheme!r} is no data: URL; send the file as data:image/png;base64,...")
    named = _HTTPS.fullmatch(url)
    if named and named[1].lower() in rules.hosts:
        return None
    allowed = f"loads from {', '.join(rules.hosts)} by https only" if rules.hosts else "loads no URLs"
    fix = "send the file as data:image/png;base64,..., or let the operator list the host in api.fetch_urls"
    raise _refused(field, f"{url[:80]!r} is refused, because this deployment {allowed}; {fix}")


def _is_data(url: str) -> bool:
    return url[:5].lower() == "data:"


def _decoded(url: str, field: str) -> bytes:
    head, comma, body = url.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise _refused(field, "must be data:<type>;base64,<the file>")
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:
        raise _refused(field, "holds no valid base64; encode the whole file again") from None


def _check_image(data: bytes, field: str) -> Header:
    header = read_header(data)
    if header is None:
        raise _refused(field, f"holds no image; send one of {', '.join(_KINDS)}")
    if not (header.width and header.height):
        raise _refused(field, "holds an image without pixels; send another one")
    size = f"{header.width} x {header.height} pixels"
    if header.width * header.height > MOST_PIXELS:
        raise _refused(field, f"holds an image of {size}; at most {MOST_PIXELS} pixels are taken. Scale it down")
    if not header.whole:
        raise _refused(field, f"holds an image of {size} that is cut; send the whole file")
    return header


def _tokens(size: Header | None, rules: ImageRules, field: str) -> int:
    try:
        return (tokens_of_image(size.width, size.height, rules.law) or 0) if size else 0
    except ValueError as refused:
        raise _refused(field, f"the image {refused}") from None


def _refused(field: str, problem: str) -> ApiError:
    return ApiError("invalid_input", f"{field}: {problem}.", field=field)
