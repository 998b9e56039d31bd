"""A key that the deployment file names: what its authorizer says of it, and the owner that its callers are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

PREFIX_LENGTH = 10


@dataclass(frozen=True)
class AuthorizedKey:
    """None = no limit. models: the names of models that it may ask for. expires: in seconds of the epoch."""

    name: str
    tokens_per_minute: int | None = None
    tokens_per_month: int | None = None
    models: tuple[str, ...] | None = None
    expires: float | None = None

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> "AuthorizedKey | None":
        """context: the authorizer's, of texts. None: the key has no name."""
        if not context.get("key"):
            return None
        minute, month, expires = (context.get(name) for name in ("tokens_per_minute", "tokens_per_month", "expires"))
        return cls(
            name=context["key"],
            tokens_per_minute=int(minute) if minute else None,
            tokens_per_month=int(month) if month else None,
            models=tuple(context["models"].split(",")) if context.get("models") else None,
            expires=float(expires) if expires else None,
        )

    def may_ask_for(self, model: object, own_names: Collection[str]) -> bool:
        """own_names: of the deployment's model; a key that has it by one of them may use the others, too."""
        if self.models is None or model in self.models:
            return True
        return model in own_names and any(name in self.models for name in own_names)


def prefix_of(name: str) -> str:
    """The first characters of every key of this name. The rest is random and known to API Gateway alone."""
    return sha256(name.encode()).hexdigest()[:PREFIX_LENGTH]


def principal_of(name: str) -> str:
    """The principal of a named key's callers, which outlives the key's value."""
    return f"key/{name}"


def owner_of(principal: str) -> str:
    """The hash under which rows know a principal."""
    return sha256(principal.encode()).hexdigest()[:32]
