"""Reads the deployments behind a gateway from their stacks."""

import json
from collections.abc import Collection
from typing import Literal

from slipway.gateway.backend import Backend, GatewayError, Price
from slipway.stack.api import refusal
from slipway.stack.deployed_stack import DeployedStack
from slipway.stack.keys import DeployedKeys, KeysError, key_command
from slipway.stack.methods import methods_of
from slipway.stack.operator_token import takes_tokens

# Ways of API Gateway to authorize a method -> api.auth. A key, or a token, is checked by an authorizer of ours.
_AUTH: dict[str, Literal["api-key", "iam", "none"]] = {"CUSTOM": "api-key", "AWS_IAM": "iam", "NONE": "none"}


def has_openai_routes(stack: DeployedStack) -> bool:
    """Return whether the stack is complete, and answers OpenAI's clients."""
    return bool(refusal(stack, as_job=False) is None and stack.variables.get("OPENAI_ROUTES"))


def backend_of(stack: DeployedStack, price: Price | None) -> Backend:
    """Return the deployment of a stack. Raises GatewayError for one without an API."""
    if problem := refusal(stack, as_job=False):
        raise GatewayError(problem)
    variables, methods = stack.variables, methods_of(stack)
    answered = frozenset(filter(None, variables.get("OPENAI_ROUTES", "").split(",")))
    return Backend(
        stack.name,
        names=_names(variables),
        url=stack.api_url,
        routes=with_responses(answered, methods),
        auth="jwt" if takes_tokens(stack) else _AUTH[methods["POST", "/generate"]],
        wakes="WAKES_PER_DAY" in variables,
        by_jobs=variables["HOSTING_MODE"] in ("async", "ec2"),
        price=price,
        key_command=_key_command(stack) if "ApiKeyId" in stack.outputs else None,
    )


def _key_command(stack: DeployedStack) -> str:
    try:
        return key_command(stack, DeployedKeys(stack).named)
    except KeysError:  # the deployment names none
        return key_command(stack, ())


def with_responses(answered: frozenset[str], methods: Collection[tuple[str, str]]) -> frozenset[str]:
    """Add the route of OpenAI's responses, which older APIs lack and which is not one of the engine's own."""
    return answered | {"responses"} if ("POST", "/responses") in methods else answered


def _names(variables: dict[str, str]) -> tuple[str, ...]:
    """Return the model's id, the name that serving.environment gave it, and its adapters.

    A container's own name for the model, such as `lmi`, is no name of one model.
    """
    facts, own = json.loads(variables.get("OPENAI_FACTS", "{}")), json.loads(variables["REQUEST_SCHEMA"])
    served = [name for name in facts.get("names", ()) if name not in own["model_aliases"]]
    adapters = filter(None, variables.get("ADAPTERS", "").split(","))
    return tuple(dict.fromkeys([variables["MODEL_ID"], *served, *adapters]))
