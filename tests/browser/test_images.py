"""Pictures in a message: by button, drop and paste, scaled to what the body holds, and removed again."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Visit
from local_cloud.api_client import ApiClient
from support.pictures import data_url, png
from support.stacks.deployed_stacks import Apis
from support.stand_ins.api import Call, Reply, StandInApi, chat_chunks

DROP = """([kind, name, data]) => {
  const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0)), files = new DataTransfer();
  files.items.add(new File([bytes], "a.png", { type: "image/png" }));
  const given = kind === "paste" ? { clipboardData: files } : { dataTransfer: files };
  const Kind = kind === "paste" ? ClipboardEvent : DragEvent;
  const event = new Kind(kind, { bubbles: true, cancelable: true, ...given });
  document.getElementById(name).dispatchEvent(event);
}"""
PICTURE = png(64, 48)


def counting(call: Call) -> Reply:
    content = call.body["messages"][-1]["content"]
    return 200, {}, chat_chunks([f"{sum('image_url' in part for part in content)} pictures"])


@pytest.fixture
def api() -> Iterator[StandInApi]:
    options: dict[str, Any] = {"chat_template": True, "streams": ["chat"], "images": {"most": 2}}
    with StandInApi({"POST chat/completions": counting}, **options) as running:
        yield running


def bring(page: Page, how: str, picture: bytes = PICTURE) -> None:
    page.evaluate(DROP, [how, "message", base64.b64encode(picture).decode()])


def choose(page: Page, picture: bytes, name: str = "a.png", kind: str = "image/png") -> None:
    page.locator("#image-file").set_input_files({"name": name, "mimeType": kind, "buffer": picture})


def send(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")
    expect(page.locator("#phase")).to_have_text("Done")


def content(api: StandInApi) -> Any:
    return api.called("POST chat/completions")[-1].body["messages"][-1]["content"]


@pytest.mark.parametrize("how", ["drop", "paste"])
def test_a_picture_is_shown_small_and_sent_as_it_is(visit: Visit, api: StandInApi, how: str) -> None:
    page = visit(api.url)
    bring(page, how)
    expect(page.get_by_alt_text("Picture 1")).to_be_visible()
    send(page, "What is it?")
    image = {"type": "image_url", "image_url": {"url": data_url(PICTURE)}}
    assert content(api) == [image, {"type": "text", "text": "What is it?"}]
    expect(page.locator("#images img")).to_have_count(0)
    expect(page.locator(".turn.user img")).to_have_count(1)
    send(page, "And now?")
    assert content(api) == "And now?"


def test_a_chosen_picture_can_be_removed_and_too_many_are_named(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    for number in (1, 2, 3):
        choose(page, PICTURE)
        expect(page.locator("#images img")).to_have_count(min(number, 2))
    expect(page.locator("#message-hint")).to_have_text("This deployment takes at most 2 pictures in a request.")
    page.get_by_role("button", name="Remove picture 2").click()
    expect(page.locator("#images img")).to_have_count(1)
    page.get_by_label("Message", exact=True).press("Enter")
    expect(page.locator("#phase")).to_have_text("Done")
    assert [part["type"] for part in content(api)] == ["image_url"]


def test_a_picture_beyond_the_body_is_scaled_down(visit: Visit, api: StandInApi) -> None:
    api.config["max_body_bytes"] = 40_000
    page = visit(api.url)
    choose(page, png(1200, 900) + bytes(60_000))
    expect(page.locator("#images img")).to_have_count(1)
    send(page, "What is it?")
    url = content(api)[0]["image_url"]["url"]
    assert url.startswith("data:image/jpeg;base64,")
    assert len(url) < 40_000


def test_a_file_that_is_no_picture_is_named(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    choose(page, b"no pixels", "notes.png")
    expect(page.locator("#message-hint")).to_contain_text("notes.png is no picture that this browser reads")
    expect(page.locator("#images img")).to_have_count(0)


def test_a_model_for_texts_offers_no_pictures(visit: Visit) -> None:
    with StandInApi({}, chat_template=True, streams=["chat"]) as api:
        page = visit(api.url)
        expect(page.get_by_role("button", name="Add picture")).to_be_hidden()
        bring(page, "drop")
        expect(page.locator("#images img")).to_have_count(0)


def test_the_deployed_model_sees_the_picture(visit: Visit, apis: Apis) -> None:
    api: ApiClient = apis("images")
    page = visit(api.url)
    page.get_by_label("API key").fill(str(api.api_key))
    bring(page, "drop")
    expect(page.get_by_alt_text("Picture 1")).to_be_visible()
    send(page, "How large is it?")
    expect(page.locator(".sample .written")).to_contain_text("The image is 64x48.")
