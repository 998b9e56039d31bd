"""Makes the OpenAPI document of a deployed API, with its routes, its URL, its model and how callers authenticate."""

import copy
import json
import sys

from slipway.openapi.document import document
from slipway.openapi.schemas import Schema
from slipway.stack.api import refusal
from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.methods import methods_of
from slipway.stack.operator_token import takes_tokens

# Security schemes by a method's authorizationType. API Gateway has no type for a key without an authorizer.
_SCHEMES = {"AWS_IAM": ("signature",), "CUSTOM": ("key", "bearer"), "NONE": ()}


def run(name: str, region: str | None) -> int:
    """Print the document. Returns the exit status: 2 if there is no API."""
    return with_stack(name, region, _print)


def _print(stack: DeployedStack) -> int:
    if problem := refusal(stack, as_job=False):
        print(problem, file=sys.stderr)
        return 2
    print(json.dumps(document_of(stack), indent=2))
    return 0


def document_of(stack: DeployedStack) -> Schema:
    """Make the document of a stack that has an API. Raises ClientError."""
    methods, whole = methods_of(stack), copy.deepcopy(document())
    paths: dict[str, Schema] = {}
    for path, operations in whole["paths"].items():
        for verb, operation in operations.items():
            if (authorization := methods.get((verb.upper(), path))) is not None:
                schemes = ("token",) if takes_tokens(stack) and authorization == "CUSTOM" else _SCHEMES[authorization]
                security = [each for each in operation["security"] if not each.keys().isdisjoint(schemes)]
                paths.setdefault(path, {})[verb] = operation | {"security": security}
    longest = int(stack.variables["LONGEST_WAIT_IN_SECONDS"])
    whole["components"]["parameters"]["wait"]["schema"]["maximum"] = longest
    schemas = whole["components"]["schemas"]
    forms = schemas["Generate"]["oneOf"]
    schemas["Generate"]["oneOf"] = [form for form in forms if form["required"][0] in stack.bodies]
    for name in ("Chat", "Complete"):
        schemas[name]["properties"]["model"]["examples"] = [stack.variables["MODEL_ID"]]
    info = whole["info"] | {"title": stack.name, "description": f"{stack.serves}. {whole['info']['description']}"}
    return whole | {"info": info, "servers": [{"url": str(stack.api_url).rstrip("/")}], "paths": paths}
