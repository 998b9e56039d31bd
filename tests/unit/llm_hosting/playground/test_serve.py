"""The page's function: files, headers, configuration, and data that it never shows."""

import json
import re
from typing import Any

import pytest

from llm_hosting.playground import serve
from support.repository import ROOT

FOLDER = ROOT / "constructs" / "llm_hosting" / "playground"
VARIABLES = {
    "AUTH": "api-key",
    "HOSTING_MODE": "realtime",
    "ENGINE": "tgi",
    "MODEL_ID": "openai-community/gpt2",
    "LONGEST_WAIT_IN_SECONDS": "25",
    "MAX_BODY_BYTES": "131072",
    "REQUEST_SCHEMA": '{"bodies": ["inputs"], "parameters": {"top_k": {"minimum": 1}}, "model_aliases": []}',
    "JOB_TABLE": "a-table",
    "AWS_SECRET_ACCESS_KEY": "a-secret",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)


def get(file: str | None, path: str = "/v1/", **headers: str) -> dict[str, Any]:
    event = {
        "resource": "/playground/{file}" if file else "/",
        "headers": headers,
        "pathParameters": {"file": file} if file else None,
        "requestContext": {"path": path, "requestId": "r-1"},
    }
    return serve.handler(event, None)


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (None, "text/html"),
        ("playground.js", "text/javascript"),
        ("style.css", "text/css"),
        ("icon.svg", "image/svg+xml"),
        ("config.json", "application/json"),
    ],
)
def test_every_file_comes_with_its_type_a_strict_policy_and_a_request_id(file: str | None, kind: str) -> None:
    answer = get(file)
    headers = answer["headers"]
    assert (answer["statusCode"], headers["content-type"]) == (200, f"{kind}; charset=utf-8")
    assert headers["x-request-id"] == "r-1"
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert {policy[name] for name in ("default-src", "base-uri", "form-action", "frame-ancestors")} == {"'none'"}
    assert {policy[name] for name in ("style-src", "connect-src")} == {"'self'"}
    assert re.fullmatch("'self' 'sha256-[A-Za-z0-9+/=]{44}'", policy["script-src"])


def test_every_file_of_the_folder_is_served() -> None:
    names = {each.name for each in FOLDER.iterdir() if each.is_file()} - {"serve.py", "index.html"}
    modules = {name for name in names if name.endswith(".js")}
    assert set(serve.MODULES) == modules
    assert all(get(name)["body"] == (FOLDER / name).read_text() for name in names - modules)


def test_the_modules_are_served_as_one_script_in_their_order() -> None:
    script = get("playground.js")["body"]
    assert not re.search(r'^(export |import \{|\} from ")', script, re.MULTILINE)
    first_lines = [(FOLDER / name).read_text().partition("\n")[0] for name in serve.MODULES]
    places = [script.index(line) for line in first_lines]
    assert places == sorted(places)
    assert get("chat.js")["statusCode"] == 404


def test_a_browser_that_has_a_file_gets_it_again_only_after_a_change() -> None:
    first = get("style.css")
    assert first["headers"]["cache-control"] == "no-cache"
    again = get("style.css", **{"If-None-Match": first["headers"]["etag"]})
    assert (again["statusCode"], again["body"]) == (304, "")
    assert get("playground.js", **{"If-None-Match": first["headers"]["etag"]})["statusCode"] == 200


@pytest.mark.parametrize(
    "file", ["serve.py", "../serve.py", "..", "", ".", "%2e%2e/serve.py", "/etc/passwd", "no.js", "index.html"]
)
def test_any_other_name_is_a_404_in_our_shape(file: str) -> None:
    answer = get(file or "__init__.py")
    assert answer["statusCode"] == 404
    assert set(json.loads(answer["body"])["error"]) == {"code", "message"}


@pytest.mark.parametrize("path", ["/v1", "/v1/"])
def test_the_page_comes_whatever_the_last_slash_of_the_event(path: str) -> None:
    assert get(None, path=path)["statusCode"] == 200


def test_the_configuration_names_the_deployment_and_no_secret_nor_resource() -> None:
    text = get("config.json")["body"]
    config = json.loads(text)
    assert (config["auth"], config["jobs"], config["bodies"]) == ("api-key", True, ["inputs"])
    assert config["parameters"] == {"top_k": {"minimum": 1}}
    assert "a-secret" not in text
    assert "a-table" not in text


@pytest.mark.parametrize(
    ("routes", "facts", "streams"),
    [
        ("chat,completions", {"streams": ["messages", "prompt"]}, ["text", "chat"]),
        ("completions", {"streams": ["inputs"], "inputs": "tgi"}, ["text"]),
        ("chat", {"streams": []}, []),
        ("", {"streams": ["messages", "prompt"]}, []),
    ],
)
def test_the_page_knows_which_routes_answer_token_by_token(
    routes: str, facts: dict[str, Any], streams: list[str]
) -> None:
    variables = VARIABLES | {"OPENAI_ROUTES": routes, "OPENAI_FACTS": json.dumps(facts)}
    assert serve.config(variables)["streams"] == streams
    assert serve.config(variables | {"HOSTING_MODE": "async"})["streams"] == []


@pytest.mark.parametrize("facts", [{}, {"chat_template": True}])
def test_the_page_knows_of_a_chat_template(facts: dict[str, Any]) -> None:
    assert serve.config(VARIABLES | {"OPENAI_FACTS": json.dumps(facts)})["chat_template"] is bool(facts)


def test_the_page_is_small_and_sends_requests_to_no_other_host() -> None:
    assert sum(len(get(name)["body"]) for name in (None, "playground.js", "style.css", "icon.svg")) < 95_000
    for each in (each for each in FOLDER.iterdir() if each.suffix in (".html", ".js", ".css", ".svg")):
        links = each.read_text().replace("http://www.w3.org/2000/svg", "").replace('"https://', "")
        assert "http://" not in links, each.name
        assert "https://" not in links, each.name


@pytest.mark.parametrize(("routes", "vectors"), [("embeddings", "embeddings"), ("rerank", "rerank"), ("chat", None)])
def test_the_page_knows_that_a_model_makes_vectors_or_scores(routes: str, vectors: str | None) -> None:
    assert serve.config(VARIABLES | {"OPENAI_ROUTES": routes})["vectors"] == vectors
