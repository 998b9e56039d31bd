"""A key or a group of callers that the deployment file names, as the authorizer describes it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

PREFIX_LENGTH = 10


@dataclass(frozen=True)
class AuthorizedKey:
    """A named key, or a group, and its limits; None = no limit.

    models: the names of models that it may use. expires: seconds since the epoch. rate: requests per second.
    is_group: whether the name is a group's, each of whose callers has these limits.
    """

    name: str
    tokens_per_minute: int | None = None
    tokens_per_month: int | None = None
    models: tuple[str, ...] | None = None
    expires: float | None = None
    rate: float | None = None
    is_group: bool = False

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> "AuthorizedKey | None":
        """Read the authorizer's context, whose values are texts. Return None without a named key or a group."""
        name = context.get("key") or context.get("group")
        if not name:
            return None
        minute, month, expires, rate = (
            context.get(name) for name in ("tokens_per_minute", "tokens_per_month", "expires", "rate")
        )
        return cls(
            name=name,
            tokens_per_minute=int(minute) if minute else None,
            tokens_per_month=int(month) if month else None,
            models=tuple(context["models"].split(",")) if context.get("models") else None,
            expires=float(expires) if expires else None,
            rate=float(rate) if rate else None,
            is_group="group" in context,
        )

    @property
    def limit_headers(self) -> dict[str, str]:
        """The limits in OpenAI's headers. API Gateway counts requests, so no function knows how many are left."""
        tokens = self.tokens_per_minute or self.tokens_per_month
        requests = None if self.rate is None else max(1, int(60 * self.rate))
        said = {"x-ratelimit-limit-requests": requests, "x-ratelimit-limit-tokens": tokens}
        return {name: str(value) for name, value in said.items() if value is not None}

    def may_ask_for(self, model: object, own_names: Collection[str]) -> bool:
        """Whether the key may use a model.

        own_names: all names of the deployment's model. A key that may use one of them may use the others, too.
        """
        if self.models is None or model in self.models:
            return True
        return model in own_names and any(name in self.models for name in own_names)


def prefix_of(name: str) -> str:
    """Return the first characters of every key of this name. The rest is random; only API Gateway knows it."""
    return sha256(name.encode()).hexdigest()[:PREFIX_LENGTH]


def caller_of_key(name: str) -> str:
    """Return what identifies the callers of a named key, also after the key's value has changed."""
    return f"key/{name}"


def caller_of_token(subject: str) -> str:
    """Return what identifies the caller with a token. subject: the hash of issuer and `sub`."""
    return f"jwt/{subject}"


def hash_of_caller(caller: str) -> str:
    """Return the hash under which rows, events and the log know a caller."""
    return sha256(caller.encode()).hexdigest()[:32]
