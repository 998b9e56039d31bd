"""A deployment as a gateway sees it."""

import re
from dataclasses import dataclass
from typing import Literal


class GatewayError(Exception):
    """No configuration can be written; the message is one sentence."""


@dataclass(frozen=True)
class Price:
    """USD for one token, and the figures that it comes from."""

    per_input_token: float
    per_output_token: float
    basis: str


@dataclass(frozen=True)
class Backend:
    """One API with a model.

    name: the deployment, or `<account>/<region>` of a fleet. names: the model's id first, then other names under which
    the container serves it, and its adapters. url: ends in a slash; None = a variable of the gateway's environment has
    it. routes: what the API answers: chat, completions, responses, embeddings, rerank.
    wakes: the model sleeps without calls, and a call wakes it. by_jobs: jobs answer the calls.
    key_command: shows a key; None = only the stack's own account can.
    """

    name: str
    names: tuple[str, ...]
    url: str | None
    routes: frozenset[str]
    auth: Literal["api-key", "iam", "jwt", "none"]
    wakes: bool = False
    by_jobs: bool = False
    price: Price | None = None
    key_command: str | None = None

    @property
    def unreachable(self) -> str | None:
        """Why a gateway can't call the API; None = it can."""
        if self.auth == "iam":
            return "its callers sign their requests (api.auth: iam)"
        return "its callers bring tokens, which expire (api.auth: jwt)" if self.auth == "jwt" else None

    @property
    def variable(self) -> str:
        """The end of the names of its variables."""
        return re.sub("[^A-Z0-9]+", "_", self.name.upper())

    @property
    def key_variable(self) -> str | None:
        """The variable with its key; None = its API asks for none."""
        return f"SLIPWAY_KEY_{self.variable}" if self.auth == "api-key" else None

    @property
    def url_variable(self) -> str | None:
        """The variable with its URL; None = the URL is known."""
        return None if self.url else f"SLIPWAY_URL_{self.variable}"
