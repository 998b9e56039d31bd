"""The named keys of a deployed API. Their limits are in the stack, their values in API Gateway."""

import json
import secrets
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from inference_api.keys.named_key import prefix_of
from llm_hosting import DEPLOYMENT_TAG, KEY_TAG
from llm_hosting.deployment.nearest import nearest
from slipway.shared.aws_clients import region_option
from slipway.stack.deployed_stack import DeployedStack

_ALPHABET = string.ascii_letters + string.digits
_RANDOM_LENGTH = 40  # characters after the prefix, which holds the key's name
_SHORTEST_ID = 4


class KeysError(Exception):
    """Nothing was changed; the message is one sentence."""


@dataclass(frozen=True)
class KeyValue:
    """One value of a key, without the secret itself. Two values exist while a key is rotated.

    opens: False if the value is disabled, or not in the key's usage plan, for example after the stack was replaced.
    """

    id: str
    name: str
    created: datetime
    opens: bool


@dataclass(frozen=True)
class DeployedKey:
    """A key that the deployment names. limits: the limits that are set, such as `tokens_per_minute` and `models`."""

    name: str
    plan: str
    owner: str | None
    limits: dict[str, Any]


def key_command(stack: DeployedStack, names: Iterable[str]) -> str:
    """Return a command that shows a key of the API. names: the keys that the deployment names."""
    chosen = region_option(stack.region)
    if first := min(names, default=None):
        return f"slipway keys create {stack.name} {first}{chosen}"
    key = stack.outputs["ApiKeyId"]
    return f"aws apigateway get-api-key --include-value --query value --output text --api-key {key}{chosen}"


class DeployedKeys:
    """The keys of one stack. Raises KeysError for a stack whose API names no keys."""

    def __init__(self, stack: DeployedStack) -> None:
        self._stack, self._gateway = stack, stack.clients("apigateway")
        self.named = {key.name: key for key in self._find()}
        if not self.named:
            fix = (
                "add api.keys to its file and deploy it"
                if "ApiKeyId" in stack.outputs
                else "it needs api.auth: api-key and api.keys"
            )
            raise KeysError(f"{stack.name} names no keys: {fix}.")

    def key(self, name: str | None) -> DeployedKey:
        """Return the key with this name. Raises KeysError, which suggests the nearest name."""
        if not name:
            raise KeysError(f"Give the name of a key: {self._stack.name} has {', '.join(sorted(self.named))}.")
        if name not in self.named:
            problem = f"{name}: {self._stack.name} has no such key; did you mean {nearest(name, self.named)}?"
            raise KeysError(f"{problem} To add a key, list it in api.keys and deploy.")
        return self.named[name]

    def values(self) -> list[KeyValue]:
        """Return all values, the oldest first, including those of names that the deployment has dropped."""
        pages = self._gateway.get_paginator("get_api_keys").paginate(nameQuery=self._prefix, includeValues=False)
        found = [each for page in pages for each in page["items"]]
        ours = [each for each in found if each.get("tags", {}).get(DEPLOYMENT_TAG) == self._stack.name]
        planned = self._planned()
        values = [
            KeyValue(
                each["id"],
                each["tags"][KEY_TAG],
                each["createdDate"].astimezone(UTC),
                opens=bool(each.get("enabled")) and (each["tags"][KEY_TAG], each["id"]) in planned,
            )
            for each in ours
            if KEY_TAG in each["tags"]
        ]
        return sorted(values, key=lambda value: (value.created, value.id))

    def create(self, key: DeployedKey) -> tuple[KeyValue, str]:
        """Create a value and add it to the key's usage plan. Only this method returns the secret."""
        value = prefix_of(key.name) + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
        made = self._gateway.create_api_key(
            name=f"{self._prefix}{key.name}-{secrets.token_hex(4)}",
            enabled=True,
            value=value,
            tags={DEPLOYMENT_TAG: self._stack.name, KEY_TAG: key.name},
        )
        try:
            self._gateway.create_usage_plan_key(usagePlanId=key.plan, keyId=made["id"], keyType="API_KEY")
        except BaseException:
            self._gateway.delete_api_key(apiKey=made["id"])
            raise
        return KeyValue(made["id"], key.name, made["createdDate"].astimezone(UTC), opens=True), value

    def to_revoke(self, given: str | None) -> KeyValue:
        """Find the one value with this name, this id, or an id with this beginning. Raises KeysError."""
        values = self.values()
        if not given:
            raise KeysError(f"Give the name or the id of the value to revoke: {_listed(values)}.")
        found = [value for value in values if value.name == given]
        # The name of a key without a value, or a misspelt name, may be the beginning of another key's id.
        if not found and given not in self.named and len(given) >= _SHORTEST_ID:
            found = [value for value in values if value.id.startswith(given)]
        if len(found) == 1:
            return found[0]
        if found:
            raise KeysError(f"{given} has {len(found)} values; give the id of one: {_listed(found)}.")
        if given in self.named:
            raise KeysError(f"{given} has no value: it was revoked already, or never created.")
        known = [value.name for value in values] + [value.id for value in values]
        problem = f"{given}: no key of {self._stack.name} has that name or id; it may be revoked already"
        raise KeysError(f"{problem}. Did you mean {nearest(given, known)}?" if known else f"{problem}.")

    def revoke(self, value: KeyValue) -> None:
        """Delete the value. This takes effect at once, as API Gateway looks it up on each call. Raises KeysError."""
        try:
            self._gateway.delete_api_key(apiKey=value.id)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NotFoundException":
                raise
            raise KeysError(f"{value.id} of {value.name} was revoked by somebody else a moment ago.") from None

    @property
    def _prefix(self) -> str:
        return f"{self._stack.name}-"

    def _find(self) -> Iterator[DeployedKey]:
        limits = self._token_limits()
        for plan_id in self._stack.resources.get("AWS::ApiGateway::UsagePlan", []):
            plan = self._gateway.get_usage_plan(usagePlanId=plan_id)
            name = plan.get("tags", {}).get(KEY_TAG)
            if name in limits:
                throttle, quota = plan.get("throttle", {}), plan.get("quota") or {}
                of_plan = {
                    "rate": throttle.get("rateLimit"),
                    "burst": throttle.get("burstLimit"),
                    "requests_per_month": quota.get("limit"),
                }
                given = {each: value for each, value in of_plan.items() if value is not None}
                yield DeployedKey(name, plan_id, plan.get("description") or None, given | limits[name])

    def _planned(self) -> set[tuple[str, str]]:
        """Return name and id of each value that is in its key's usage plan."""
        plan_keys = self._gateway.get_paginator("get_usage_plan_keys")
        return {
            (key.name, each["id"])
            for key in self.named.values()
            for page in plan_keys.paginate(usagePlanId=key.plan)
            for each in page["items"]
        }

    def _token_limits(self) -> dict[str, dict[str, Any]]:
        """Return the token limits by name, as the authorizer reads them."""
        variables = (function.get("Environment", {}).get("Variables", {}) for function in self._stack.functions)
        found = next((each["API_KEYS"] for each in variables if "API_KEYS" in each), "{}")
        return dict(json.loads(found))


def _listed(values: list[KeyValue]) -> str:
    return ", ".join(f"{value.id} ({value.name}, {value.created:%Y-%m-%d})" for value in values) or "there is none"
