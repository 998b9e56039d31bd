"""The configuration of LiteLLM's proxy."""

from typing import Any

from slipway.gateway.backend import Price
from slipway.gateway.litellm import configuration
from support.gateway import backend, pools_of


def entry(*backends: Any, **options: Any) -> dict[str, Any]:
    """Return the first model."""
    found: dict[str, Any] = configuration(pools_of(*backends, **options))["model_list"][0]
    return found


def test_a_model_has_its_public_name_its_url_and_a_key_from_the_environment() -> None:
    found = entry(backend("qwen3-4b", "Qwen/Qwen3-4B"))
    assert found["model_name"] == "Qwen/Qwen3-4B"
    assert found["litellm_params"] == {
        "model": "openai/Qwen/Qwen3-4B",
        "api_base": "https://qwen3-4b.execute-api.eu-west-1.amazonaws.com/v1",
        "api_key": "os.environ/SLIPWAY_KEY_QWEN3_4B",
        "max_retries": 0,
    }
    assert found["model_info"] == {"mode": "chat", "health_check_max_tokens": 1}


def test_an_adapter_is_asked_for_by_its_own_name() -> None:
    models = configuration(pools_of(backend("chat", "a/model", "legal")))["model_list"]
    assert [each["litellm_params"]["model"] for each in models] == ["openai/a/model", "openai/legal"]


def test_an_open_api_gets_no_key() -> None:
    assert entry(backend("open", auth="none"))["litellm_params"]["api_key"] == "none"


def test_an_unknown_url_comes_from_the_environment() -> None:
    found = entry(backend("111122223333/eu-west-1", "a/model", url=None))["litellm_params"]
    assert found["api_base"] == "os.environ/SLIPWAY_URL_111122223333_EU_WEST_1"
    assert found["api_key"] == "os.environ/SLIPWAY_KEY_111122223333_EU_WEST_1"


def test_weights_and_prices_are_those_of_each_deployment() -> None:
    priced = backend("one", "a/model", price=Price(1e-07, 4e-07, "measured"))
    first, second = configuration(pools_of(priced, backend("two", "a/model"), one=9, two=1))["model_list"]
    assert [each["litellm_params"]["weight"] for each in (first, second)] == [9, 1]
    assert first["litellm_params"]["input_cost_per_token"] == 1e-07
    assert first["litellm_params"]["output_cost_per_token"] == 4e-07
    assert "output_cost_per_token" not in second["litellm_params"]


def test_fallbacks_are_those_of_the_command_line() -> None:
    big, small = backend("big", "a/big"), backend("small", "a/small")
    settings = configuration(pools_of(big, small, fallbacks={"big": ["small"]}))["router_settings"]
    assert settings["fallbacks"] == [{"a/big": ["a/small"]}]
    assert "fallbacks" not in configuration(pools_of(big, small))["router_settings"]


def test_no_health_check_wakes_a_model() -> None:
    for sleeping in ({"wakes": True}, {"by_jobs": True}):
        assert entry(backend("chat", **sleeping))["model_info"]["disable_background_health_check"] is True
    settings = configuration(pools_of(backend("chat")))["general_settings"]
    assert settings["background_health_checks"]
    assert settings["health_check_skip_disabled_background_models"]


def test_a_stream_waits_for_a_model_that_sleeps_unless_another_one_can_answer() -> None:
    asleep, small = backend("asleep", wakes=True), backend("small")
    assert entry(asleep, small, fallbacks={"asleep": ["small"]})["litellm_params"]["extra_headers"] == {"x-wait": "0"}
    assert "extra_headers" not in entry(asleep, small)["litellm_params"]


def test_responses_become_chats_where_the_api_has_no_such_route() -> None:
    assert entry(backend("old", routes=frozenset({"chat"})))["litellm_params"]["use_chat_completions_api"] is True
    for route in ("completions", "embeddings", "rerank"):
        assert "use_chat_completions_api" not in entry(backend("other", routes=frozenset({route})))["litellm_params"]


def test_models_for_vectors_have_their_own_mode() -> None:
    assert entry(backend("vectors", routes=frozenset({"embeddings"})))["model_info"] == {"mode": "embedding"}
    ranks = entry(backend("ranks", routes=frozenset({"rerank"})))
    assert (ranks["litellm_params"]["model"], ranks["model_info"]["mode"]) == ("hosted_vllm/ranks", "rerank")


def test_only_callers_with_the_gateways_own_key_are_served() -> None:
    assert configuration(pools_of(backend("a")))["general_settings"]["master_key"] == "os.environ/LITELLM_MASTER_KEY"
