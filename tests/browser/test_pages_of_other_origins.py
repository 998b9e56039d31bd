"""Pages of other origins in Chromium, which call a deployed API with a key."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from local_cloud.api_client import ApiClient
from support.command import Command
from support.stacks.deployed_stacks import Apis

NAME, NAMED, STRANGER = "web-pages", "http://localhost:5173", "http://localhost:5174"
# As the SDK of OpenAI sends it from a browser.
CALL = """async ([url, key, body]) => {
  const headers = {
    authorization: `Bearer ${key}`, "content-type": "application/json", "x-stainless-lang": "js",
    "x-stainless-package-version": "1", "x-stainless-os": "Unknown", "x-stainless-arch": "unknown",
    "x-stainless-runtime": "browser:chrome", "x-stainless-runtime-version": "1", "x-stainless-retry-count": "0",
    "x-stainless-timeout": "600", "x-wait": "60",
  };
  try {
    const answer = await fetch(url + "chat/completions", {method: "POST", headers, body: JSON.stringify(body)});
    const reader = answer.body.getReader(), decoder = new TextDecoder();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, {stream: true});
    }
    return {status: answer.status, text, headers: Object.fromEntries(answer.headers)};
  } catch (error) {
    return {refused: error.message};
  }
}"""
BODY = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5, "stream": True}
Open = Callable[[str], Page]


@pytest.fixture(scope="module")
def api(apis: Apis) -> ApiClient:
    return apis(NAME)


@pytest.fixture
def key(api: ApiClient, slipway: Command) -> str:
    slipway("keys", "revoke", NAME, "pages")
    return str(json.loads(slipway("keys", "create", NAME, "pages", "--json").stdout)["value"])


@pytest.fixture
def page_of(browser: Browser) -> Iterator[Open]:
    """Return a function that opens an empty page of an origin. No server stands behind it."""
    # Chromium asks before a page without a server may call an API on this machine.
    context = browser.new_context(permissions=["local-network-access"])

    def open_page(origin: str) -> Page:
        page = context.new_page()
        page.route(f"{origin}/", lambda route: route.fulfill(body="<title>Page</title>", content_type="text/html"))
        page.goto(f"{origin}/")
        page.unroute_all()  # with a route Playwright answers preflights itself
        return page

    yield open_page
    context.close()


def called(page: Page, api: ApiClient, key: str, **more: Any) -> dict[str, Any]:
    return dict(page.evaluate(CALL, [api.url, key, BODY | more]))


def test_a_page_of_a_named_origin_streams_an_answer_and_reads_its_headers(
    page_of: Open, api: ApiClient, key: str
) -> None:
    found = called(page_of(NAMED), api, key)
    assert found["status"] == 200, found
    assert found["text"].rstrip().endswith("data: [DONE]")
    readable = {"openai-model", "openai-processing-ms", "x-request-id", "x-ratelimit-remaining-tokens"}
    assert readable <= found["headers"].keys()


def test_a_page_of_a_named_origin_reads_an_error(page_of: Open, api: ApiClient, key: str) -> None:
    found = called(page_of(NAMED), api, key, messages=7)
    assert found["status"] == 400, found
    assert json.loads(found["text"])["error"]["param"] == "messages"


def test_the_browser_refuses_a_page_of_another_origin_and_sends_no_key(page_of: Open, api: ApiClient, key: str) -> None:
    page, sent, said = page_of(STRANGER), list[str](), list[str]()
    page.on("response", lambda response: sent.append(response.request.method))
    page.on("console", lambda message: said.append(message.text))
    assert called(page, api, key) == {"refused": "Failed to fetch"}
    assert "POST" not in sent
    assert "'https://chat.example.com' that is not equal to the supplied origin" in said[0]


def test_an_api_without_the_setting_refuses_every_page(page_of: Open, apis: Apis) -> None:
    api = apis("playground")
    assert called(page_of(NAMED), api, api.api_key or "") == {"refused": "Failed to fetch"}
