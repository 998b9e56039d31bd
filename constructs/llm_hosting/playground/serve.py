"""Serves the playground's page: the function of GET / and GET /playground/{file}; the signing proxy uses it, too."""

import base64
import hashlib
import json
import os
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

INDEX, CONFIG = "", "config.json"  # the page is at the root only, because its links are relative
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
_FILES = ("index.html", "style.css", "icon.svg")
# Joined into one file, in this order: a new account runs ten functions at once, and a page lacking a module is dead.
SCRIPT = "playground.js"
MODULES = (
    *("page.js", "deployment.js", "api.js", "stream.js", "requests.js", "snippets.js", "markdown.js", "picture.js"),
    "images.js",
    *("answers.js", "chat.js", "controls.js", "patience.js", "endpoint.js", "jobs.js", "progress.js", "history.js"),
    *("run.js", "vectors.js", SCRIPT),
)
_BETWEEN_MODULES = re.compile(
    r'^import \{[^}]*\} from "\./\w+\.js";\n|^export (?=async |function |const |class )', re.MULTILINE
)
# Inline in the page: adds the slash at the end of the URL, without which relative links miss the stage.
_SLASH = "if (!location.pathname.endsWith('/')) location.replace(location.pathname + '/' + location.hash);"
_SLASH_HASH = base64.b64encode(hashlib.sha256(_SLASH.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; script-src 'self' 'sha256-{_SLASH_HASH}'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",  # cached, but checked each time: after an update no old script may run
}

Reply = tuple[int, dict[str, str], str]


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answer API Gateway's event with the page, one of its files or its configuration; no answer holds a secret."""
    gateway, asked = event["requestContext"], {k.lower(): v for k, v in (event.get("headers") or {}).items()}
    name = (event.get("pathParameters") or {}).get("file", INDEX)
    status, headers, body = answer(name, config(os.environ), asked.get("if-none-match"))
    return {"statusCode": status, "headers": headers | {"x-request-id": gateway["requestId"]}, "body": body}


def config(variables: Mapping[str, str]) -> dict[str, Any]:
    """The page's configuration, from the variables that every function of the deployment has."""
    schema = json.loads(variables["REQUEST_SCHEMA"])
    return {
        "auth": variables.get("AUTH"),
        "mode": variables["HOSTING_MODE"],
        "engine": variables["ENGINE"],
        "model_id": variables["MODEL_ID"],
        "bodies": schema["bodies"],
        "parameters": schema["parameters"],
        "images": schema.get("images"),
        "max_body_bytes": int(variables["MAX_BODY_BYTES"]),
        "chat_template": bool(_openai_facts(variables).get("chat_template")),
        "streams": _streams(variables),
        "vectors": next((route for route in ("embeddings", "rerank") if route in _openai_routes(variables)), None),
        "jobs": "JOB_TABLE" in variables,
        "longest_wait_in_seconds": int(variables["LONGEST_WAIT_IN_SECONDS"]),
        "deployment": variables.get("DEPLOYMENT_NAME"),
        "region": variables.get("AWS_REGION"),
        "signed_by_proxy": False,
    }


def _streams(variables: Mapping[str, str]) -> list[str]:
    """The kinds of prompt that a route streams. A job's answer comes as a whole."""
    if variables["HOSTING_MODE"] != "realtime":
        return []
    facts, routes = _openai_facts(variables), _openai_routes(variables)
    kinds = (("text", "completions", "inputs" if facts.get("inputs") else "prompt"), ("chat", "chat", "messages"))
    return [kind for kind, route, form in kinds if route in routes and form in facts.get("streams", ())]


def _openai_routes(variables: Mapping[str, str]) -> list[str]:
    return variables.get("OPENAI_ROUTES", "").split(",")


def _openai_facts(variables: Mapping[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(variables.get("OPENAI_FACTS", "{}"))
    return facts


def answer(name: str, settings: Mapping[str, Any], known: str | None) -> Reply:
    """Status, headers and body for a file of the page. known: the ETag that the browser sent."""
    if name == CONFIG:
        kind, body = "application/json", json.dumps(settings)
    elif name in _files():
        kind, body = _files()[name]
    else:
        error = {"code": "no_such_file", "message": "The playground has no such file: open the URL of the API."}
        headers = {"content-type": "application/json", **_HEADERS, "cache-control": "no-store"}
        return 404, headers, json.dumps({"error": error})
    etag = f'"{hashlib.sha256(body.encode()).hexdigest()[:32]}"'
    headers = {"content-type": f"{kind}; charset=utf-8", "etag": etag, **_HEADERS}
    return (304, headers, "") if known == etag else (200, headers, body)


@cache
def _files() -> dict[str, tuple[str, str]]:
    """Content type and text by name. A caller's name is looked up here and never becomes a path."""
    found = {name: (_TYPES[name.rpartition(".")[2]], _text(name)) for name in _FILES}
    found[INDEX] = found.pop("index.html")
    script = "".join(_BETWEEN_MODULES.sub("", _text(module)) for module in MODULES)
    found[SCRIPT] = (_TYPES["js"], script)
    return found


def _text(name: str) -> str:
    """The text of a file beside this module, read by the module's loader: in a template there is no folder."""
    content = pkgutil.get_data(__name__, name)
    assert content is not None
    return content.decode()
