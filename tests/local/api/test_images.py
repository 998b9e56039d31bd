"""Images over real HTTP: the model sees them on every route, and wrong or dangerous ones never reach it."""

from pathlib import Path
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from support.command import Command
from support.pictures import data_url, jpeg, png, png_bomb
from support.stacks.deployed_stacks import Apis, ended

MODEL = "Qwen/Qwen3-VL-4B-Instruct"
OPENAI = ("/chat/completions", "/responses")  # these routes take the key as a bearer token


@pytest.fixture(scope="module")
def api(apis: Apis) -> ApiClient:
    return apis("images")


def ask(api: ApiClient, asked: Any, route: str = "/chat/completions") -> tuple[int, Any]:
    key = (
        {"authorization": f"Bearer {api.api_key}"}
        if api.api_key and route in ("/chat/completions", "/responses")
        else {}
    )
    status, _, answer = api.call("POST", route, asked, headers=key)
    return status, answer


def chat(*urls: str) -> dict[str, Any]:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    content = [*parts, {"type": "text", "text": "How large is it?"}]
    return {"model": MODEL, "messages": [{"role": "user", "content": content}], "max_tokens": 12}


def test_the_model_sees_the_images_of_a_chat_and_counts_their_tokens(api: ApiClient) -> None:
    urls = data_url(png(640, 480)), data_url(jpeg(1024, 1024), "image/jpeg")
    status, answer = ask(api, chat(*urls))
    assert status == 200
    assert answer["choices"][0]["message"]["content"].startswith("The image is 640x480. The image is 1024x1024.")
    # The texts count one token a word, each part without text one.
    assert answer["usage"]["prompt_tokens"] == 300 + 1024 + 6


def test_a_job_and_generate_take_images_too(api: ApiClient) -> None:
    asked = chat(data_url(png(640, 480)))
    status, answer = ask(api, asked, "/generate")
    assert (status, "640x480" in str(answer)) == (200, True)
    status, _, job = api.call("POST", "/jobs", asked)
    assert status == 202
    assert "640x480" in str(ended(api, job)["output"])


def test_a_listed_host_is_left_to_the_container(api: ApiClient) -> None:
    status, answer = ask(api, chat("https://images.example.com/a.png"))
    assert (status, "images.example.com" in str(answer)) == (200, True)


@pytest.mark.parametrize("route", ["/chat/completions", "/generate", "/jobs"])
@pytest.mark.parametrize(
    ("url", "says"),
    [
        (data_url(b"these are no pixels"), "holds no image; send one of image/png"),
        (data_url(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"), "holds no image"),
        (data_url(png(64, 64))[:-1], "holds no valid base64"),
        (data_url(png_bomb(60_000)), "60000 x 60000 pixels; at most 89478485"),
        ("file:///etc/passwd", "'file' is no data: URL"),
        ("http://169.254.169.254/latest/meta-data/iam/", "loads from images.example.com by https only"),
        ("https://169.254.169.254/", "loads from images.example.com by https only"),
        ("https://other.example.com/a.png", "loads from images.example.com by https only"),
    ],
)
def test_a_wrong_image_is_a_400_that_says_what_to_change(api: ApiClient, route: str, url: str, says: str) -> None:
    status, answer = ask(api, chat(url), route)
    assert (status, answer["error"]["code"]) == (400, "invalid_input")
    assert says in answer["error"]["message"]


def test_too_many_images_and_20_mb_are_refused(api: ApiClient) -> None:
    small = data_url(png(8, 8))
    status, answer = ask(api, chat(small, small, small))
    assert (status, "at most 2 in a request" in answer["error"]["message"]) == (400, True)
    for megabytes in (3, 20):
        status, answer = ask(api, chat(data_url(png(8, 8) + bytes(megabytes * 10**6))))
        assert status == 413


def test_a_model_for_texts_says_that_it_takes_no_images(apis: Apis) -> None:
    asked = chat(data_url(png(8, 8))) | {"model": "Qwen/Qwen3-4B"}
    status, answer = ask(apis("qwen3-4b"), asked)
    assert (status, "the model takes no images" in answer["error"]["message"]) == (400, True)


def response(api: ApiClient, model: str, *urls: Any) -> tuple[int, Any]:
    parts = [{"type": "input_text", "text": "How large?"}, *({"type": "input_image", "image_url": url} for url in urls)]
    return ask(api, {"model": model, "input": [{"role": "user", "content": parts}]}, "/responses")


def test_a_response_takes_images_and_names_its_own_fields(api: ApiClient) -> None:
    status, answer = response(api, MODEL, data_url(png(640, 480)))
    assert (status, "640x480" in str(answer["output"])) == (200, True)
    assert answer["usage"]["input_tokens"] > 300
    for url, says in (("http://169.254.169.254/", "by https only"), (data_url(b"none"), "holds no image")):
        status, answer = response(api, MODEL, url)
        assert (status, answer["error"]["param"]) == (400, "input[0].content[1].image_url")
        assert says in answer["error"]["message"]


def test_a_response_of_a_model_for_texts_says_so(apis: Apis) -> None:
    status, answer = response(apis("qwen3-4b"), "Qwen/Qwen3-4B", data_url(png(8, 8)))
    assert (status, answer["error"]["param"]) == (400, "input[0].content[1]")


def test_call_shows_the_model_a_file(apis: Apis, slipway: Command, tmp_path: Path) -> None:
    apis("images")
    (tmp_path / "chart.png").write_bytes(png(64, 48))
    outcome = slipway("call", "images", "How large?", "--image", str(tmp_path / "chart.png"))
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith("The image is 64x48.")
    (tmp_path / "chart.png").write_bytes(b"none")
    outcome = slipway("call", "images", "How large?", "--image", str(tmp_path / "chart.png"))
    assert (outcome.status, "holds no image" in outcome.stderr) == (1, True)
    outcome = slipway("call", "images", "How large?", "--image", str(tmp_path / "none.png"))
    assert (outcome.status, "none.png can't be read" in outcome.stderr) == (2, True)
