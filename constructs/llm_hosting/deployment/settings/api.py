"""The settings of the REST API: who may call it, its limits, keys and routes."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from .api_edge import Allow, ApiDomain, PrivateApi, WebAclArn
from .jwt import Jwt, ModelName
from .section import Section

DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS = 29  # API Gateway's longest wait without a raised quota


# A name with a dot whose last part is no number: neither an IP address nor a port can be one.
HostToFetch = Annotated[
    str, Field(pattern=r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$", max_length=253)
]


KeyName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$", max_length=32)]


FunctionName = Literal[
    "authorize",
    "authorize_token",
    "every_minute",
    "generate",
    "poll_job",
    "record_result",
    "route",
    "run_job",
    "serve",
]


def _date(value: object) -> object:
    """Turn a quoted date into a date; YAML itself does so only without quotes."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value  # pydantic refuses it


class Throttle(Section):
    """Limits on requests to each route and, with `api-key`, of each key; requests above a limit get 429."""

    rate: float = Field(20, gt=0, le=10000, description="Requests per second.")
    burst: int = Field(40, ge=1, le=5000, description="Requests at once.")


class Quota(Section):
    """Limit on requests with the stack's own key; needs `auth: api-key`."""

    limit: int = Field(ge=1, le=2_147_483_647, description="Requests per period.")
    period: Literal["DAY", "WEEK", "MONTH"] = Field("DAY", description="Period after which the count starts again.")


class Cors(Section):
    """Web pages that may call the API from a browser."""

    origins: list[Annotated[str, Field(max_length=200)]] = Field(
        min_length=1,
        max_length=10,
        description="Exact origins of the pages, such as `https://chat.example.com` or `http://localhost:5173`. Pages "
        "of the first one can also read the answers of API Gateway itself, such as a 401 or a 429.",
    )


class NamedKey(Section):
    """The owner and limits of a key. `slipway keys create` makes its value, a deploy never does."""

    owner: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="Person or team that is responsible for the key, shown beside its usage; null = not stated."
    )
    rate: float | None = Field(
        None, gt=0, le=10000, description="Requests per second, to all routes together; null = `api.throttle.rate`."
    )
    burst: int | None = Field(None, ge=1, le=5000, description="Requests at once; null = `api.throttle.burst`.")
    requests_per_month: int | None = Field(
        None, ge=1, le=2_147_483_647, description="Requests per calendar month (UTC); null = no limit."
    )
    tokens_per_minute: int | None = Field(
        None, ge=1, le=1_000_000_000, description="Tokens of prompts and answers together, per minute; null = no limit."
    )
    tokens_per_month: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000_000,
        description="Tokens of prompts and answers together, per calendar month (UTC); null = no limit.",
    )
    models: list[ModelName] | None = Field(
        None, min_length=1, max_length=20, description="Ids of the models that the key may ask for; null = all."
    )
    expires: Annotated[date, BeforeValidator(_date)] | None = Field(
        None,
        description="Last day (UTC) on which the key is accepted, such as `2027-12-31`; null = it does not expire.",
    )

    @property
    def expires_at(self) -> int | None:
        """The end of the last day, in seconds since the epoch; None = the key does not expire."""
        if self.expires is None:
            return None
        return round((datetime.combine(self.expires, time(), UTC) + timedelta(days=1)).timestamp())


def limits_of_keys(keys: Mapping[str, NamedKey]) -> str:
    """Return the limits of each key by its name, as JSON for the authorizer; `expires` in seconds since the epoch."""
    limits = {
        name: {
            "rate": key.rate,
            "tokens_per_minute": key.tokens_per_minute,
            "tokens_per_month": key.tokens_per_month,
            "models": ",".join(key.models) if key.models else None,
            "expires": key.expires_at,
        }
        for name, key in keys.items()
    }
    said = {name: {limit: value for limit, value in of.items() if value is not None} for name, of in limits.items()}
    return json.dumps(said, separators=(",", ":"))


class Api(Section):
    """The REST API in front of the endpoint."""

    auth: Literal["iam", "api-key", "jwt", "none"] = Field(
        "iam",
        description="`iam`: requests signed with AWS credentials (SigV4). `api-key`: a shared secret in `x-api-key` "
        "or `Authorization: Bearer`. `jwt`: a token of an OpenID Connect issuer as `Authorization: Bearer`. `none`: "
        "open to everybody.",
    )
    jwt: Jwt | None = Field(None, description="The issuer of tokens and what a token must say; needs `auth: jwt`.")
    openai: bool | None = Field(
        None,
        description="Routes for OpenAI clients: POST /chat/completions, /completions and /responses, with `model.task` "
        "embed /embeddings and with rerank /rerank instead; GET /models; with jobs also /files and /batches. null = on "
        "if the engine takes `messages`, makes vectors or scores. true = also on if the engine takes only `inputs`, "
        "with /completions but without chat.",
    )
    other_models: Literal["accept", "refuse"] | None = Field(
        None,
        description="What happens, on OpenAI routes, to a name in `model` that is not the deployment's. `accept`: the "
        "deployment's model answers under its own id. `refuse`: 404 `model_not_found`. null = as the engine does: "
        "vLLM refuses such names, the others accept them. A key with `models` accepts only those.",
    )
    keys: dict[KeyName, NamedKey] = Field(
        default_factory=dict,
        description="Keys by name, each with its own owner and limits, in addition to the stack's own key; needs "
        "`auth: api-key`.",
    )
    throttle: Throttle = Throttle()
    quota: Quota | None = Field(None, description="Limit on requests with the stack's own key; null = no limit.")
    timeout_in_seconds: int = Field(
        DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS,
        ge=DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS,
        le=300,
        description="How long API Gateway waits for a function; more than 29 s needs a raised quota. POST /generate "
        "and `?wait=` may take four seconds less than this, a real-time endpoint at most 60 s.",
    )
    max_body_in_kb: int = Field(
        128,
        ge=1,
        le=2900,
        description="Largest request body (1 kB = 1,024 bytes); Lambda takes 6 MB at most, after escaping.",
    )
    fetch_urls: list[HostToFetch] = Field(
        [],
        max_length=20,
        description="Hosts from which a vision-language model's container may load images that callers name by an "
        "`https://` URL; needs vLLM 0.11 or newer, which then follows no redirects. Empty = images come as "
        "`data:` URLs.",
    )
    access_logs: bool = Field(
        True,
        description="API Gateway writes one log line per request, without prompts; needs the stack "
        "`slipway-account-settings` once in each account and region. With `logs.requests: none` it writes none.",
    )
    tracing: bool = Field(False, description="The old name of `operations.tracing`, which will go.")
    memory_in_mb: int = Field(512, ge=256, le=10240, description="Memory of each function; CPU grows with it.")
    reserved_concurrency: dict[FunctionName, Annotated[int, Field(ge=1, le=10_000)]] = Field(
        default_factory=dict,
        description="Calls at once that are kept for a function, by its name, and are also its limit, such as "
        "`{every_minute: 3}`. Lambda leaves at least 100 of the account's quota to all other functions.",
    )
    architecture: Literal["arm64", "x86_64"] = Field("arm64", description="Processor architecture of the functions.")
    cors: Cors | None = Field(
        None,
        description="Let web pages of other origins call the API from a browser, with the same authorization as every "
        "caller; null = no page may.",
    )
    playground: bool = Field(
        False,
        description="Serve a page to try the model at the API's own URL; anybody may load it, but its calls need the "
        "key.",
    )
    private: PrivateApi | None = Field(
        None, description="Reach the API through VPC endpoints only; null = it has a public address."
    )
    allow: Allow | None = Field(
        None, description="Let in callers of other accounts, or only callers of some networks; null = no policy."
    )
    domain: ApiDomain | None = Field(None, description="Domain of your own; null = the name that API Gateway gives.")
    waf: bool = Field(
        False,
        description="Make a web ACL (AWS WAF) in front of the API, about 9 USD a month and 0.60 USD per million "
        "requests; it never judges the text of prompts.",
    )
    waf_acl_arn: WebAclArn | None = Field(
        None,
        description="Web ACL of your own, of scope REGIONAL, in the region of the stack: "
        "`arn:aws:wafv2:<region>:<account>:regional/webacl/<web acl>/<id>`; null = none.",
    )

    @property
    def has_policy(self) -> bool:
        """Whether the API has a resource policy."""
        return self.private is not None or self.allow is not None

    @property
    def cidrs(self) -> list[str]:
        """The networks from which callers must come; empty = any."""
        return self.allow.cidrs if self.allow else []

    @property
    def counts_usage(self) -> bool:
        """Whether the usage of each caller is counted, because limits may depend on it."""
        return bool(self.keys or (self.jwt and self.jwt.groups))

    @property
    def function_timeout_in_seconds(self) -> int:
        """Timeout of functions that wait; shorter than the gateway's, so that callers get the function's own error."""
        return self.timeout_in_seconds - 1

    @property
    def longest_wait_in_seconds(self) -> int:
        """Longest wait for the model or for the end of a job; it leaves the function 3 s to connect and to answer."""
        return self.timeout_in_seconds - 4
