"""Images of a chat: formats, sizes, tokens, and addresses that the container must not ask."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_api.model.image_header import read_header
from inference_api.model.image_tokens import tokens_of_image
from inference_api.model.images import image_tokens
from inference_api.model.request_body import check_request_body
from inference_api.shared.errors import ApiError
from inference_api.shared.request_rules import ImageRules, RequestRules
from support.pictures import data_url, gif, jpeg, png, png_bomb, webp

QWEN3 = {"law": "scaled", "patch": 32, "least_pixels": 65536, "most_pixels": 16777216}
GIVEN = ImageRules(most=2, law=QWEN3, context=24576)
PNG = data_url(png(640, 480))


def chat(*urls: Any, **more: Any) -> dict[str, Any]:
    parts = [{"type": "image_url", "image_url": {"url": url, **more}} for url in urls]
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, *parts]}]}


def check(document: Any, images: ImageRules | None = GIVEN) -> dict[str, Any]:
    rules = RequestRules("vllm", ("messages", "inputs"), {}, 2**22, images=images)
    return check_request_body(json.dumps(document).encode(), "application/json", rules, lambda: True)


def refusal(document: Any, images: ImageRules | None = GIVEN) -> ApiError:
    with pytest.raises(ApiError) as caught:
        check(document, images)
    return caught.value


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (png(640, 480), "image/png"),
        (jpeg(640, 480), "image/jpeg"),
        (gif(640, 480), "image/gif"),
        (webp(640, 480), "image/webp"),
        (webp(640, 480, b"VP8L"), "image/webp"),
        (webp(640, 480, b"VP8 "), "image/webp"),
    ],
)
def test_each_format_tells_its_size(data: bytes, kind: str) -> None:
    assert read_header(data) == (kind, 640, 480, True)


def test_a_picture_with_data_behind_its_end_is_whole() -> None:
    header = read_header(png(640, 480) + bytes(1000))  # as screenshots of some phones
    assert header
    assert header.whole


@given(
    st.one_of(st.binary(max_size=80), st.sampled_from([png(2, 2), jpeg(2, 2), gif(2, 2), webp(2, 2)]), st.none()),
    st.integers(0, 99),
)
def test_any_bytes_have_a_header_or_none(data: bytes | None, cut: int) -> None:
    header = read_header((data or b"\xff\xd8\xff" + bytes(cut))[:cut])
    assert header is None or header.width >= 0


@pytest.mark.parametrize(
    ("law", "size", "tokens"),
    [
        (QWEN3, (640, 480), 20 * 15),
        (QWEN3, (10, 10), 64),  # scaled up to 256 x 256
        (QWEN3, (8192, 8192), 16384),  # scaled down
        ({"law": "fixed", "patch": 896, "tokens": 256}, (3000, 20), 256),
        ({"law": "fitted", "patch": 16, "longest_side": 1024}, (640, 480), 30 * 41),
        ({"law": "fitted", "patch": 16, "longest_side": 1024}, (2048, 1024), 32 * 65),
        ({"law": "tiles", "patch": 448, "tokens": 256, "most_tiles": 12}, (448, 448), 256),
        ({"law": "tiles", "patch": 448, "tokens": 256, "most_tiles": 12}, (896, 448), 3 * 256),
        ({}, (640, 480), None),
    ],
)
def test_an_image_has_the_tokens_of_its_models_law(
    law: dict[str, Any], size: tuple[int, int], tokens: int | None
) -> None:
    assert tokens_of_image(*size, law) == tokens


@pytest.mark.parametrize("field", ["auto", "low", "high", None])
def test_an_image_passes_as_it_is(field: str | None) -> None:
    document = chat(PNG, detail=field)
    assert check(document) == document
    assert image_tokens(document, GIVEN) == 300


def test_an_address_may_be_a_plain_string_and_is_checked_all_the_same() -> None:
    document = {"messages": [{"role": "user", "content": [{"image_url": PNG}]}]}
    assert check(document) == document
    document["messages"][0]["content"][0]["image_url"] = "http://169.254.169.254/"  # type: ignore[index]
    assert "refused" in str(refusal(document).message)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (
            chat(data_url(b"no image at all")),
            "holds no image; send one of image/png, image/jpeg, image/webp, image/gif",
        ),
        (chat(data_url(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")), "holds no image"),
        (chat(PNG[:-3]), "holds no valid base64"),
        (chat(PNG.replace("i", "%69")), "holds no valid base64"),  # engines would read other bytes
        (chat(data_url(png(640, 480)[:-20])), "an image of 640 x 480 pixels that is cut; send the whole file"),
        (chat(data_url(png_bomb(60_000))), "an image of 60000 x 60000 pixels; at most 89478485 pixels are taken"),
        (chat(data_url(png(201, 1))), "is more than 200 times as long as wide"),
        (chat("data:image/png,abc"), "must be data:<type>;base64,<the file>"),
        (chat(PNG, detail="best"), "'best' is not allowed; use auto, low or high"),
        (chat(7), 'must be an object with "url"'),
        (chat(PNG, PNG, PNG), "has 3 images; this deployment takes at most 2 in a request"),
        (chat("file:///etc/passwd"), "'file' is no data: URL"),
        (chat("ftp://example.com/a.png"), "'ftp' is no data: URL"),
        (chat("https://example.com/a.png"), "this deployment loads no URLs; send the file as data:"),
        (chat("http://169.254.169.254/latest/meta-data/"), "this deployment loads no URLs"),
    ],
)
def test_a_wrong_image_is_refused_with_what_to_do(document: Any, says: str) -> None:
    found = refusal(document)
    assert (found.code, says in str(found.message)) == ("invalid_input", True)


HOSTS = ImageRules(hosts=("images.example.com",))


def test_a_listed_host_is_left_to_the_container() -> None:
    document = chat("https://images.example.com/a/b.png?size=2&x=%20y")
    assert check(document, HOSTS) == document
    assert image_tokens(document, HOSTS) == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://images.example.com/a.png",
        "https://images.example.com.evil.org/a.png",
        "https://images.example.com./a.png",
        "https://images.example.com:8443/a.png",
        "https://user@images.example.com/a.png",
        "https://images.example.com@169.254.169.254/a.png",
        "https://169.254.169.254\\@images.example.com/a.png",
        "https://images.example.com\\.evil.org/a.png",
        "https://evil.org/#@images.example.com/",
        "https://[::ffff:169.254.169.254]/",
        "https://2852039166/",
        "https:/images.example.com/a.png",
        "https://images.example.com/a\n.png",
        " https://images.example.com/a.png",
        "https://images\u212a.example.com/a.png",
        "file://images.example.com/etc/passwd",
        "javascript:https://images.example.com/",
    ],
)
def test_no_trick_reaches_another_host(url: str) -> None:
    assert refusal(chat(url), HOSTS).code == "invalid_input"


@pytest.mark.parametrize("part", ["video_url", "audio_url"])
def test_sound_and_video_are_loaded_from_nowhere_either(part: str) -> None:
    document = {"messages": [{"role": "user", "content": [{"type": part, part: {"url": "http://169.254.169.254/"}}]}]}
    assert "loads no URLs" in str(refusal(document).message)


def test_a_model_for_texts_refuses_each_part_that_is_none() -> None:
    found = refusal(chat(PNG), None)
    assert found.message == (
        "messages[0].content[1]: the model takes no images, sound or video; remove it, or ask a vision-language model."
    )
    assert check({"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}, None)


def test_images_that_fill_the_context_are_too_long() -> None:
    found = refusal(chat(PNG, PNG), ImageRules(law=QWEN3, context=600))
    assert (found.code, "the images have 600 tokens" in str(found.message)) == ("context_length_exceeded", True)


def test_an_engine_that_loads_images_out_of_texts_gets_no_address() -> None:
    rules = ImageRules(in_texts=True)
    for document in (
        {"inputs": "![](http://169.254.169.254/)What is it?"},
        {"messages": [{"role": "user", "content": "Look: ![a](http://169.254.169.254/)"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "![](file:///etc/passwd)"}]}]},
    ):
        assert refusal(document, rules).code == "invalid_input"
    assert check({"inputs": f"![]({PNG})What is it?"}, rules)


@pytest.mark.parametrize(
    "document",
    [
        {"messages": [{"role": "user", "content": [{"text": "!", "a": "b"}, {"text": "[](http://169.254.169.254/)"}]}]},
        {"messages": [{"role": "user", "content": text} for text in ("![a](http://169.254.169.254/?", ")")]},
        {"messages": [{"role": "user", "content": text} for text in ("![a", "](http://169.254.169.254/)")]},
        {
            "messages": [{"role": "user", "content": "Hi"}],
            "tools": [{"function": {"description": "![a](http://169.254.169.254/)"}}],
        },
    ],
)
def test_an_address_in_pieces_is_found_too(document: Any) -> None:
    assert "169.254.169.254" in str(refusal(document, ImageRules(in_texts=True)).message)


def test_ordinary_texts_name_no_image() -> None:
    text = "A link: [a](http://example.com) and code: if (![1, 2].includes(x)) vec![0; n]; f(a[0](b))!"
    assert check({"messages": [{"role": "user", "content": text}]}, ImageRules(in_texts=True))


def test_a_long_text_of_brackets_is_read_once() -> None:
    document = {"inputs": "![" * 10**6}  # a pattern that starts anew at each bracket takes hours
    assert check(document, ImageRules(in_texts=True)) == document


@pytest.mark.parametrize("kind", ["image_embeds", "image_pil", "audio_embeds"])
def test_vectors_in_place_of_a_file_are_refused(kind: str) -> None:
    document = {"messages": [{"role": "user", "content": [{"type": kind, kind: "gASV"}]}]}
    assert refusal(document).field == f"messages[0].content[0].{kind}"


@pytest.mark.parametrize(
    "content",
    ["Hi", None, ["Hi"], [{"type": "text", "text": "image_url"}], [{"type": "refusal", "refusal": "No"}], [{"a": 1}]],
)
def test_a_model_for_texts_takes_each_form_of_text(content: Any) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "file", "arguments": "{}"}}
    turn = {"role": "assistant", "content": content, "tool_calls": [call]}
    document = {"messages": [turn, {"role": "tool", "tool_call_id": "1", "content": content}]}
    assert check(document, None) == document
