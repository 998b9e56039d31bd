"""The settings of callers with tokens: the issuer, what a token must say, and the limits of groups."""

import json
from typing import Annotated, Any

from pydantic import Field

from .section import Section

ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_./:-]{1,200}$")]
_Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$", min_length=1, max_length=256)]
_DEFAULT_GROUPS_CLAIM = "groups"
_COGNITO_GROUPS_CLAIM = "cognito:groups"


class TokenGroup(Section):
    """The limits of each caller in a group."""

    models: list[ModelName] | None = Field(
        None, min_length=1, max_length=20, description="Ids of the models that the group may ask for; null = all."
    )
    tokens_per_minute: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000,
        description="Tokens of prompts and answers together, per minute and caller; null = no limit.",
    )
    tokens_per_month: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000_000,
        description="Tokens of prompts and answers together, per calendar month (UTC) and caller; null = no limit.",
    )


class Jwt(Section):
    """Whose tokens are accepted, and what a token must say; needs `auth: jwt`."""

    issuer: Annotated[str, Field(max_length=300)] | None = Field(
        None,
        description="The issuer's URL exactly as its tokens say it in `iss`, such as `https://login.example.com/`. "
        "`<issuer>/.well-known/openid-configuration` must answer.",
    )
    user_pool: bool = Field(
        False,
        description="Make a Cognito user pool, which is the issuer, with a client for programs. Cognito charges for "
        "the client, about 6 USD a month, and for each token that it issues.",
    )
    audience: list[_Text] = Field(
        [],
        max_length=20,
        description="Accepted values of `aud`, one of which a token must have. Access tokens of Cognito have none: "
        "their `client_id` counts instead. With `user_pool`: clients beside the stack's own.",
    )
    claims: dict[_Text, bool | _Text | list[_Text]] = Field(
        default_factory=dict,
        max_length=10,
        description="Claims that a token must have, by name, such as `{scope: llm/call}`: a value, or a list of which "
        "one is enough. A claim with a list, or `scope` and `scp` with words, must contain it.",
    )
    groups_claim: _Text | None = Field(
        None,
        description="The claim with the caller's groups; null = `groups`, with `user_pool` `cognito:groups`.",
    )
    groups: dict[_Text, TokenGroup] = Field(
        default_factory=dict,
        description="Limits by group. The first one here that a token names counts; a token that names none is "
        "refused. Empty = no groups and no limits.",
    )

    def rules(self, issuer: str, audience: list[str]) -> dict[str, Any]:
        """Return what the authorizer checks. issuer and audience: those of the tokens, which may be CDK tokens."""
        usual = _COGNITO_GROUPS_CLAIM if self.user_pool else _DEFAULT_GROUPS_CLAIM
        return {
            "issuer": issuer,
            "audience": audience,
            "claims": {name: value if isinstance(value, list) else [value] for name, value in self.claims.items()},
            "groups_claim": self.groups_claim or usual,
            "groups": {name: _limits(group) for name, group in self.groups.items()},
        }

    @property
    def size_in_bytes(self) -> int:
        """Size of the rules in the environment of a function."""
        return len(json.dumps(self.rules(self.issuer or "", self.audience), separators=(",", ":")).encode())


def _limits(group: TokenGroup) -> dict[str, str]:
    """Return limits as texts, as the context of an authorizer has them."""
    limits = {
        "tokens_per_minute": group.tokens_per_minute,
        "tokens_per_month": group.tokens_per_month,
        "models": ",".join(group.models) if group.models else None,
    }
    return {name: str(value) for name, value in limits.items() if value is not None}
