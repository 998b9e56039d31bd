"""Rules over callers with tokens: the issuer, its audience, and the groups."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from ...deployment.finding import Finding
from ...resolution import Resolution
from .rule import error

# Lambda takes 4,096 bytes of names and values. The issuer and the client of a user pool take up to 200.
_MOST_BYTES_OF_RULES = 3800
_PRINTABLE_URL = re.compile(r"https://[!-~]+")
_FIX = "use the text that the tokens have in `iss`, such as https://login.example.com/ or https://login.example.com/a"


@error
def issuer_is_exact(resolution: Resolution) -> Iterator[Finding]:
    """A token's `iss` must equal the issuer, whose documents lie below it and are read over HTTPS."""
    jwt = resolution.deployment.api.jwt
    if jwt and jwt.issuer is not None and (problem := _problem_of(jwt.issuer)):
        yield Finding("api.jwt.issuer", f"{jwt.issuer!r} {problem}", _FIX)


def _problem_of(issuer: str) -> str | None:
    """Return why no issuer has this name; None if one may have it."""
    if not _PRINTABLE_URL.fullmatch(issuer):
        return "is no https URL"
    if "?" in issuer or "#" in issuer:
        return "has a query or a fragment, which no issuer has"
    if issuer.rstrip("/").endswith(("/.well-known/openid-configuration", "/jwks.json")):
        return "is the URL of a document, not that of the issuer"
    try:
        parts = urlsplit(issuer)
        if not parts.hostname or parts.port == 0:
            return "names no host"
    except ValueError:
        return "has no valid host or port"
    return "holds credentials" if "@" in parts.netloc else None


@error
def group_knows_a_model(resolution: Resolution) -> Iterator[Finding]:
    """A group for models that the deployment does not have is refused on every call."""
    model, jwt = resolution.deployment.model, resolution.deployment.api.jwt
    known = {model.id, *resolution.container.model_names, *model.adapters}
    for name, group in jwt.groups.items() if jwt else ():
        if unknown := [each for each in group.models or () if each not in known]:
            yield Finding(
                f"api.jwt.groups.{name}.models",
                f"{', '.join(unknown)} is not a model of this deployment",
                f"use {' or '.join([model.id, *model.adapters])}, or remove the setting",
            )


@error
def token_rules_fit_the_authorizer(resolution: Resolution) -> Iterator[Finding]:
    """The authorizer holds what a token must say in its environment, which Lambda limits to 4 kB."""
    jwt = resolution.deployment.api.jwt
    if jwt and jwt.size_in_bytes > _MOST_BYTES_OF_RULES:
        yield Finding(
            "api.jwt",
            f"its rules take {jwt.size_in_bytes} bytes of the authorizer's environment, which has room for "
            f"{_MOST_BYTES_OF_RULES}",
            "remove groups, claims or audiences, or shorten their names",
        )
