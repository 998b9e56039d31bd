"""The playground on a deployed stack: the page at the API's own URL, and the signing proxy, tried and attacked."""

import http.client
import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from botocore.credentials import Credentials
from playwright.sync_api import Page, expect

from browser.conftest import Visit
from local_cloud.api_client import ApiClient
from local_cloud.cloud import LocalCloud, free_port
from slipway.stack.api import DeployedApi
from slipway.stack.deployed_stack import find_stack
from slipway.stack.signing_proxy import USUAL_PORT, SigningProxy, proxy_for
from support.stacks.deployed_stacks import Apis

NAME = "playground"
BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 8}}
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> A list of"


@pytest.fixture(scope="module")
def api(apis: Apis) -> ApiClient:
    """Return a client of the API, with its key."""
    return apis(NAME)


@pytest.fixture(scope="module")
def proxy(api: ApiClient, cloud: LocalCloud) -> Iterator[SigningProxy]:
    with proxy_of(NAME, api, cloud) as running:
        yield running


def proxy_of(name: str, api: ApiClient, cloud: LocalCloud) -> SigningProxy:
    key = Credentials(cloud.deployer.access_key_id, cloud.deployer.secret_access_key)
    stack = find_stack(name, lambda service: cloud.client(service, region=api.region))
    return SigningProxy(stack, DeployedApi(stack, key))


def raw(proxy: SigningProxy, target: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], Any]:
    """Send a request unchanged; a given header replaces http.client's own."""
    where = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(where.netloc, timeout=60)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, target, skip_host="host" in given)
    for name, value in given.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, json.loads(content)


def ask(page: Page) -> list[str]:
    """Ask for two samples and return their texts."""
    page.locator("#generate").click()
    expect(page.locator("#phase")).to_have_text("Done")
    return page.locator(".sample .written").all_text_contents()


def test_the_page_asks_the_deployed_model_with_a_key_that_it_checks(visit: Visit, api: ApiClient) -> None:
    page = visit(api.url)
    expect(page.locator("#model")).to_have_text("openai-community/gpt2")
    page.get_by_label("API key").fill("not-the-key-of-this-api")
    for name, value in {"prompt": HOSTILE, "samples": "2", "length": "12", "seed": "7"}.items():
        page.locator(f"#{name}").fill(value)
    page.locator("#generate").click()
    expect(page.get_by_role("alert")).to_contain_text("Send a valid key of this API")
    expect(page.locator("#key")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("API key").fill(str(api.api_key))
    texts = ask(page)
    expect(page.locator("#endpoint-status")).to_have_text("Ready")
    asked = {"max_new_tokens": 12, "do_sample": True, "temperature": 0.8}
    for text, seed in zip(texts, (7, 8), strict=True):
        body = {"inputs": HOSTILE, "parameters": {**asked, "seed": seed}}
        assert text == api.call("POST", "/generate", body)[2][0]["generated_text"]


def test_the_page_behind_the_proxy_asks_for_no_key_and_its_curl_line_works(visit: Visit, proxy: SigningProxy) -> None:
    page = visit(proxy.url)
    expect(page.locator("#sign-in")).to_be_hidden()
    expect(page.locator("#about")).to_contain_text("a text generator answers in place of the model")
    for name, value in {"prompt": HOSTILE, "samples": "2", "length": "12", "seed": "7"}.items():
        page.locator(f"#{name}").fill(value)
    texts = ask(page)
    page.locator("#code summary").click()
    shown = page.locator("#snippet").inner_text()
    answer = subprocess.run(shown, shell=True, capture_output=True, text=True, check=True).stdout
    events = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: {")]
    assert "".join(event["choices"][0]["text"] for event in events) == texts[0]


def routes_asked(page: Page, url: str) -> list[str]:
    """Collect the paths below the URL to which the page sends requests."""
    found: list[str] = []
    page.on(
        "request", lambda request: found.append(request.url.removeprefix(url)) if request.method == "POST" else None
    )
    return found


@pytest.mark.parametrize("way", ["with a key", "signed"])
def test_a_text_is_streamed(visit: Visit, api: ApiClient, proxy: SigningProxy, way: str) -> None:
    url = proxy.url if way == "signed" else api.url
    page = visit(url)
    if way == "with a key":
        page.get_by_label("API key").fill(str(api.api_key))
    asked = routes_asked(page, url)
    page.locator("#prompt").fill("A list is")
    assert ask(page)[0]
    expect(page.locator("#elapsed")).to_contain_text("first word after")
    assert asked == ["completions"]


def test_a_chat_is_streamed_through_the_proxy(visit: Visit, apis: Apis, cloud: LocalCloud) -> None:
    with proxy_of("qwen3-4b", apis("qwen3-4b"), cloud) as proxy:
        page = visit(proxy.url)
        expect(page.get_by_label("Chat")).to_be_checked()
        asked = routes_asked(page, proxy.url)
        for text in ("Hello", "And again"):
            page.get_by_label("Message", exact=True).fill(text)
            assert ask(page)[0]
        expect(page.locator(".turn")).to_have_count(3)
        assert asked == ["chat/completions"] * 2


def test_the_url_stays_and_the_usual_port_may_be_taken(
    proxy: SigningProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    port, urls = free_port(), []
    for _ in range(2):
        with proxy_for(proxy.stack, proxy.api, port, "us-east-1 playground") as again:
            urls.append(again.url)
    assert urls[0] == urls[1]
    with proxy_for(proxy.stack, proxy.api, None, "one"), proxy_for(proxy.stack, proxy.api, None, "two") as second:
        assert second.server_port != USUAL_PORT
        assert requests.get(f"{second.url}endpoint", timeout=60).json()["status"] == "InService"
    assert "--playground-port chooses one" in capsys.readouterr().err


def test_any_client_gets_the_answer_of_the_api_through_the_proxy(proxy: SigningProxy, api: ApiClient) -> None:
    answer = requests.post(f"{proxy.url}generate", json={"inputs": ""}, timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "empty_input")
    assert len(answer.headers["x-request-id"]) > 10
    assert requests.get(f"{proxy.url}nothing", timeout=60).json()["error"]["code"] == "no_such_route"
    job = requests.post(f"{proxy.url}jobs?wait=25", json=BODY, timeout=60).json()
    assert requests.delete(f"{proxy.url}jobs/{job['id']}", timeout=60).json()["error"]["code"] == "job_ended"
    assert str(api.api_key) not in requests.get(f"{proxy.url}playground/config.json", timeout=60).text


def test_a_stream_passes_through_the_proxy(proxy: SigningProxy) -> None:
    with requests.post(f"{proxy.url}generate", json={**BODY, "stream": True}, stream=True, timeout=60) as answer:
        events = [line for line in answer.iter_lines() if line]
    assert (answer.headers["content-type"], "content-length" in answer.headers) == ("text/event-stream", False)
    assert len(events) > 3
    assert events[-1] == b"data: [DONE]"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"host": "evil.example"}, "foreign_origin"),
        ({"host": "localhost"}, "foreign_origin"),
        ({"origin": "http://evil.example"}, "foreign_origin"),
        ({"origin": "null"}, "foreign_origin"),
    ],
)
def test_a_foreign_host_or_origin_is_refused_though_it_has_the_token(
    proxy: SigningProxy, headers: dict[str, str], code: str
) -> None:
    status, _, answer = raw(proxy, f"/{proxy.token}/endpoint", **headers)
    error = answer["error"]
    assert (status, error["code"], error["type"], error["param"]) == (403, code, "permission_error", None)


@pytest.mark.parametrize("target", ["/", "/endpoint", "//evil/endpoint", "/wrong/endpoint", "http://evil.example/x"])
def test_no_call_without_the_token_is_taken(proxy: SigningProxy, target: str) -> None:
    assert raw(proxy, target)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "../endpoint",
        "/evil",
        "..%2fendpoint",
        "jobs/..",
        "a/./b",
        "jobs//x",
        "jobs/",
        "@evil",
        "jobs?x=%zz",
        "jobs?x=%2",
    ],
)
def test_no_path_leads_out_of_the_api(proxy: SigningProxy, path: str) -> None:
    status, _, answer = raw(proxy, f"/{proxy.token}/{path}")
    assert (status, answer["error"]["code"]) == (404, "no_such_route")


@pytest.mark.parametrize("file", ["serve.py", "index.html", "..%2fserve.py", "../serve.py"])
def test_only_the_pages_own_files_are_served(proxy: SigningProxy, file: str) -> None:
    assert raw(proxy, f"/{proxy.token}/playground/{file}")[0] == 404


def test_a_body_without_a_length_and_an_unknown_method_are_refused(proxy: SigningProxy) -> None:
    assert raw(proxy, f"/{proxy.token}/generate", "POST", transfer_encoding="chunked")[0] == 411
    assert raw(proxy, f"/{proxy.token}/generate", "POST", content_length="99999999")[0] == 413
    assert raw(proxy, f"/{proxy.token}/generate", "POST", content_length="9" * 5000)[0] == 413
    assert raw(proxy, "/wrong/generate", "POST", content_length="99999999")[0] == 403, "before a byte of it is read"
    assert raw(proxy, f"/{proxy.token}/generate", "PUT")[2]["error"]["message"] == "Use GET, POST or DELETE."


def test_a_body_that_is_cut_off_makes_no_job(proxy: SigningProxy) -> None:
    head = f"POST /{proxy.token}/jobs HTTP/1.0\r\nHost: {proxy.host}\r\nContent-Length: 60\r\n\r\n"
    with socket.create_connection(("127.0.0.1", proxy.server_port), timeout=60) as connection:
        connection.sendall(head.encode() + b'{"inputs": "A"}')
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    assert b" 400 " in answer.splitlines()[0]
    assert b"body_cut_off" in answer


def test_a_malformed_request_line_is_refused_with_a_reason(proxy: SigningProxy) -> None:
    with socket.create_connection(("127.0.0.1", proxy.server_port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/nonsense\r\n\r\n")
        assert b"The request can't be read" in connection.makefile("rb").read()


def test_the_page_needs_no_key_and_the_model_does(api: ApiClient) -> None:
    page = requests.get(api.url, timeout=60)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert requests.get(f"{api.url}playground/config.json", timeout=60).json()["auth"] == "api-key"
    assert requests.get(f"{api.url}playground/style.css", timeout=60).status_code == 200
    for path in ("endpoint", "jobs"):
        assert requests.get(f"{api.url}{path}", timeout=60).status_code == 401
    assert requests.post(f"{api.url}generate", json=BODY, timeout=60).status_code == 401
    missing = requests.get(f"{api.url}playground/serve.py", timeout=60)
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "no_such_file")


def test_the_page_works_without_the_last_slash(visit: Visit, api: ApiClient) -> None:
    expect(visit(api.url.rstrip("/")).locator("#model")).to_have_text("openai-community/gpt2")


def test_the_page_of_an_embedding_model_compares_texts(visit: Visit, apis: Apis, cloud: LocalCloud) -> None:
    with proxy_of("bge-small", apis("bge-small"), cloud) as running:
        page = visit(running.url)
        expect(page.locator("#about")).to_contain_text("a comparison of words answers in place of the model")
        expect(page.get_by_label("Prompt", exact=True)).to_be_hidden()
        page.get_by_label("Texts").fill("a cat sleeps\ninterest rates rose\nthe cat slept")
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#vectors-said")).to_contain_text("Vectors of 384 numbers")
        expect(page.locator("#nearness li").first).to_contain_text("the cat slept")
        late = json.dumps({"error": {"code": "model_error", "message": "The model failed."}})
        page.route("**/embeddings?*", lambda route: route.fulfill(body=f"  {late}", content_type="application/json"))
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#vectors-said")).to_have_text("The model failed.")


@pytest.mark.parametrize("route", ["embeddings", "rerank"])
def test_vectors_are_asked_for_with_a_bearer_key_and_a_wait(
    visit: Visit, apis: Apis, cloud: LocalCloud, route: str
) -> None:
    with proxy_of("bge-small", apis("bge-small"), cloud) as running:
        page = visit(running.url)
        settings = {"auth": "api-key", "signed_by_proxy": False, "vectors": route}
        page.route("**/config.json", lambda each: each.fulfill(json={**each.fetch().json(), **settings}))
        asked: list[Any] = []

        def answer(each: Any) -> None:
            asked.append(each.request)
            each.fulfill(json={"error": {"message": "The model did not start."}})

        page.route(f"**/{route}?*", answer)
        page.reload()
        page.get_by_label("API key").fill("a-secret-key")
        page.get_by_role("textbox", name="Texts").fill("a cat sleeps\nthe cat slept")
        page.get_by_role("button", name="Compare" if route == "embeddings" else "Score").click()
        expect(page.locator("#vectors-said")).to_have_text("The model did not start.")
    assert asked[0].headers["authorization"] == "Bearer a-secret-key"
    assert asked[0].url.endswith("?wait=840")
