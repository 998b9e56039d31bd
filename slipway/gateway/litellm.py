"""The configuration of LiteLLM's proxy. Its settings are those of LiteLLM 1.108."""

from collections.abc import Iterator, Sequence
from typing import Any

from slipway.gateway.backend import Backend
from slipway.gateway.pools import Pool

MASTER_KEY = "LITELLM_MASTER_KEY"
_CHECK_EVERY_IN_SECONDS = 300
_BEAT_IN_SECONDS = 15
_LONGEST_ANSWER_IN_SECONDS = 900  # API Gateway ends a stream after 15 minutes
# OpenAI's protocol has no rerank; LiteLLM has it for vLLM's servers, whose form our API answers in.
_PROVIDERS = {"rerank": "hosted_vllm"}


def configuration(pools: Sequence[Pool]) -> dict[str, Any]:
    """Return the content of `config.yaml`."""
    fallbacks = [{pool.name: list(pool.fallbacks)} for pool in pools if pool.fallbacks]
    return {
        "model_list": [entry for pool in pools for entry in _entries(pool)],
        "router_settings": {
            "routing_strategy": "simple-shuffle",  # by weight
            "enable_weighted_failover": True,  # to the others of the same name
            "num_retries": 0,  # our errors say whether a retry is wise, and clients obey
            "timeout": _LONGEST_ANSWER_IN_SECONDS,
            **({"fallbacks": fallbacks} if fallbacks else {}),
        },
        "litellm_settings": {
            "sse_keepalive_ping_interval_seconds": _BEAT_IN_SECONDS,  # while a model wakes
            "drop_params": False,  # our API says what a model does not take
            "use_chat_completions_url_for_anthropic_messages": True,  # /v1/messages become chats, which all models have
        },
        "general_settings": {
            "master_key": _environment(MASTER_KEY),
            "background_health_checks": True,
            "health_check_interval": _CHECK_EVERY_IN_SECONDS,
            "health_check_skip_disabled_background_models": True,
        },
    }


def _entries(pool: Pool) -> Iterator[dict[str, Any]]:
    for backend, weight in pool.shares:
        yield {
            "model_name": pool.name,
            "litellm_params": {
                "model": f"{_PROVIDERS.get(_mode(backend), 'openai')}/{pool.name}",
                "api_base": backend.url.rstrip("/") if backend.url else _environment(str(backend.url_variable)),
                "api_key": _environment(backend.key_variable) if backend.key_variable else "none",
                "max_retries": 0,
                **({"weight": weight} if weight is not None else {}),
                **_prices(backend),
                # A caller with another model to ask does not wait until this one is awake.
                **({"extra_headers": {"x-wait": "0"}} if backend.wakes and pool.fallbacks else {}),
                # LiteLLM makes /responses of chats where the API has no such route.
                **({"use_chat_completions_api": True} if _is_older(backend) else {}),
            },
            "model_info": {"mode": _mode(backend), **_check(backend)},
        }


def _check(backend: Backend) -> dict[str, Any]:
    """Return the settings of a model's health check, which is a call. It would wake a model that sleeps."""
    if backend.wakes or backend.by_jobs:
        return {"disable_background_health_check": True}
    return {"health_check_max_tokens": 1} if _mode(backend) in ("chat", "completion") else {}  # otherwise 16


def _is_older(backend: Backend) -> bool:
    """Return whether the API has chats, but is from before the route of OpenAI's responses."""
    return "chat" in backend.routes and "responses" not in backend.routes


def _mode(backend: Backend) -> str:
    modes = {"chat": "chat", "completions": "completion", "embeddings": "embedding", "rerank": "rerank"}
    return next(mode for route, mode in modes.items() if route in backend.routes)


def _prices(backend: Backend) -> dict[str, float]:
    price = backend.price
    if price is None:
        return {}
    return {"input_cost_per_token": price.per_input_token, "output_cost_per_token": price.per_output_token}


def _environment(variable: str) -> str:
    return f"os.environ/{variable}"
