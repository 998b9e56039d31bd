"""OpenAI's requests, as each engine gets them; the shapes are those of OpenAI's API reference and its Python types."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from inference_api.keys.named_key import AuthorizedKey
from inference_api.model import deployed_engine
from inference_api.openai.body import read_call
from inference_api.openai.call import OpenAICall
from inference_api.shared.errors import ApiError
from support.pictures import data_url, png
from unit.inference_api.model.test_request_body import _json
from unit.inference_api.openai.conftest import MODEL, Deploy

MESSAGES = [{"role": "user", "content": "Hello"}]
CHAT = {"model": MODEL, "messages": MESSAGES}
PROMPT = {"model": MODEL, "prompt": "The sea is"}
WITH_MESSAGES = ["lmi-vllm", "vllm", "sglang", "llama-cpp", "tgi", "transformers", "custom"]


def read(document: Any, *, chat: bool) -> OpenAICall:
    return read_call(json.dumps(document).encode(), "application/json", chat=chat)


def refusal(document: Any, *, chat: bool) -> ApiError:
    with pytest.raises(ApiError) as caught:
        read(document, chat=chat)
    return caught.value


def schema(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        inner = {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}
    return inner


def tool(depth: int = 1) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "get_weather", "strict": True, "parameters": schema(depth)}}


def answered(*, image: bool = False) -> list[dict[str, Any]]:
    """A conversation with a tool's answer, or with an image."""
    if image:
        parts = [
            {"type": "text", "text": "What is in this image?"},
            {"type": "image_url", "image_url": {"url": data_url(png(2, 2)), "detail": "low"}},
        ]
        return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    asked = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
    return [
        {"role": "developer", "content": "Use the tools."},
        {"role": "user", "content": "How is the weather in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"degrees": 21}'},
    ]


PUBLISHED_CHATS: dict[str, dict[str, Any]] = {
    "the least": {},
    "sampling": {"temperature": 0.7, "top_p": 0.9, "seed": 7, "n": 2, "stop": ["\n", "END"], "max_tokens": 20},
    "penalties": {"frequency_penalty": 0.5, "presence_penalty": -0.5, "logit_bias": {"50256": -100}},
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "tools": {"tools": [tool()], "tool_choice": "auto", "parallel_tool_calls": False},
    "a chosen tool": {"tools": [tool()], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
    "a tool's answer": {"messages": answered(), "tools": [tool()]},
    "functions": {"functions": [{"name": "f", "parameters": schema(9)}], "function_call": {"name": "f"}},
    "a deep schema": {"tools": [tool(20)]},
    "a format": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema(20)}}
    },
    "json mode": {"response_format": {"type": "json_object"}},
    "an image": {"messages": answered(image=True)},
    "prediction": {"prediction": {"type": "content", "content": "The sea"}, "store": False, "metadata": {"a": "b"}},
    "a user": {"user": "u1", "service_tier": "auto", "reasoning_effort": "low", "modalities": ["text"]},
    "nulls": {"stop": None, "temperature": None, "tools": None, "stream": None, "response_format": None},
    "vLLM's own": {"top_k": 20, "chat_template_kwargs": {"enable_thinking": False}, "structured_outputs": schema(9)},
}


@pytest.mark.parametrize("engine", ["lmi-vllm", "vllm", "sglang", "llama-cpp", "tgi", "custom"])
@pytest.mark.parametrize("name", PUBLISHED_CHATS)
def test_a_published_chat_reaches_the_engine_as_it_is_but_for_the_model(deploy: Deploy, engine: str, name: str) -> None:
    deploy(engine)
    document = CHAT | PUBLISHED_CHATS[name]
    call = read(document, chat=True)
    kept = {name: value for name, value in document.items() if name not in ("stream", "model")}
    if (engine, name) == ("tgi", "a format"):
        kept["response_format"] = {"type": "json", "value": schema(20)}
    assert json.loads(call.unstreamed()) == kept | ({"model": MODEL} if engine == "custom" else {})
    assert (call.streams, call.model, call.chat) == (False, MODEL, True)


PUBLISHED_PROMPTS: dict[str, dict[str, Any]] = {
    "the least": {},
    "sampling": {"temperature": 0, "top_p": 0.9, "max_tokens": 7, "n": 2, "best_of": 2, "seed": 1},
    "echo and logprobs": {"echo": True, "logprobs": 1, "suffix": "the end", "stop": ["\n"]},
    "two texts": {"prompt": ["The sea is", "The sky is"]},
    "tokens": {"prompt": [464, 5417, 318]},
    "two lists of tokens": {"prompt": [[464, 5417], [464]]},
}


@pytest.mark.parametrize("engine", ["lmi-vllm", "vllm"])
@pytest.mark.parametrize("name", PUBLISHED_PROMPTS)
def test_a_published_completion_reaches_an_engine_with_prompts_as_it_is(deploy: Deploy, engine: str, name: str) -> None:
    deploy(engine)
    document = PROMPT | PUBLISHED_PROMPTS[name]
    call = read(document, chat=False)
    assert json.loads(call.unstreamed()) == {name: value for name, value in document.items() if name != "model"}


@pytest.mark.parametrize(
    ("engine", "chat", "options"),
    [
        ("lmi-vllm", True, {"include_usage": True}),
        ("vllm", False, {"include_usage": True}),
        ("sglang", True, {"include_usage": True}),
        ("llama-cpp", True, {"include_usage": True}),
        ("tgi", True, {"include_usage": True}),
        ("tgi", False, None),
        ("custom", True, None),
    ],
)
def test_a_stream_asks_for_the_tokens_where_the_engine_counts_them(
    deploy: Deploy, engine: str, chat: bool, options: Any
) -> None:
    deploy(engine)
    call = read((CHAT if chat else PROMPT) | {"stream": True}, chat=chat)
    body = json.loads(call.streamed())
    assert (body["stream"], body.get("stream_options"), call.with_usage) == (True, options, False)
    assert "stream" not in json.loads(call.unstreamed())
    assert "stream_options" not in json.loads(call.unstreamed())


@pytest.mark.parametrize("version", ["0.31.0-lmi13", "0.29.0-lmi11"])
def test_a_rolling_batch_streams_and_is_not_asked_for_tokens(deploy: Deploy, version: str) -> None:
    deploy("lmi-vllm", version)
    call = read(CHAT | {"stream": True, "stream_options": {"include_usage": True}}, chat=True)
    assert call.engine_streams
    assert "stream_options" not in json.loads(call.streamed())


def test_options_of_the_caller_reach_the_engine(deploy: Deploy) -> None:
    deploy("vllm")
    options = {"include_usage": False, "continuous_usage_stats": True}
    call = read(CHAT | {"stream": True, "stream_options": options}, chat=True)
    assert json.loads(call.streamed())["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert not call.with_usage
    assert read(CHAT | {"stream": True, "stream_options": {"include_usage": True}}, chat=True).with_usage


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"stream": 1}, "stream"),
        ({"stream": "true"}, "stream"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"stream": True, "stream_options": []}, "stream_options"),
        ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"model": 7}, "model"),
        ({"max_completion_tokens": "many"}, "max_completion_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"n": 0}, "n"),
        ({"n": 129}, "n"),
        ({"max_completion_tokens": 100_000}, "max_completion_tokens"),
    ],
)
def test_a_wrong_parameter_is_named_as_the_caller_has_it(deploy: Deploy, more: dict[str, Any], field: str) -> None:
    deploy("lmi-vllm", serving={"max_model_len": 8192})
    error = refusal(CHAT | more, chat=True)
    assert (error.status, error.code, error.field) == (400, "invalid_parameter", field)


@pytest.mark.parametrize("engine", ["lmi-vllm", "vllm"])
def test_a_prompt_may_be_echoed_with_nothing_after_it(deploy: Deploy, engine: str) -> None:
    deploy(engine)
    asked = PROMPT | {"echo": True, "max_tokens": 0, "logprobs": 1}
    assert read(asked, chat=False).document["max_tokens"] == 0
    assert refusal(asked | {"echo": False}, chat=False).field == "max_tokens"
    assert refusal(CHAT | {"echo": True, "max_tokens": 0}, chat=True).field == "max_tokens"


@pytest.mark.parametrize("name", [MODEL, "lmi", "", None])
def test_the_model_goes_by_its_id_and_the_containers_name(deploy: Deploy, name: str | None) -> None:
    deploy("lmi-vllm")
    assert read(CHAT | {"model": name}, chat=True).model == MODEL


def test_the_model_goes_by_the_name_that_the_deployment_gives_it(deploy: Deploy) -> None:
    deploy("vllm", serving={"environment": {"SM_VLLM_SERVED_MODEL_NAME": "qwen"}})
    assert [read(CHAT | {"model": name}, chat=True).model for name in ("qwen", MODEL)] == [MODEL, MODEL]


@pytest.mark.parametrize(
    ("engine", "api"), [("lmi-vllm", {}), ("vllm", {}), ("tgi", {"other_models": "refuse"})], ids=["lmi", "vllm", "tgi"]
)
def test_an_unknown_model_is_openais_404(deploy: Deploy, engine: str, api: dict[str, Any]) -> None:
    deploy(engine, api=api)
    error = refusal(CHAT | {"model": "gpt-9"}, chat=True)
    assert (error.status, error.code, error.field) == (404, "model_not_found", "model")
    assert error.message.startswith("The model `gpt-9` does not exist")


@pytest.mark.parametrize("engine", ["tgi", "sglang", "llama-cpp", "transformers", "custom"])
def test_where_the_engine_takes_any_name_so_do_we(deploy: Deploy, engine: str) -> None:
    deploy(engine)
    call = read(CHAT | {"model": "dummy"}, chat=True)
    assert (call.model, call.document.get("model")) == (MODEL, "dummy" if engine == "custom" else None)
    key = AuthorizedKey("alice", models=(MODEL,))
    with pytest.raises(ApiError) as caught:
        read_call(json.dumps(CHAT | {"model": "dummy"}).encode(), None, chat=True, key=key)
    assert caught.value.code == "model_not_found"


def test_a_deployment_may_take_any_name_for_an_engine_that_does_not(deploy: Deploy) -> None:
    deploy("lmi-vllm", api={"other_models": "accept"})
    call = read(CHAT | {"model": "gpt-4o"}, chat=True)
    assert (call.model, "model" in call.document) == (MODEL, False)


@pytest.mark.parametrize("engine", WITH_MESSAGES)
def test_one_stop_is_a_list_and_the_newer_limit_the_older(deploy: Deploy, engine: str) -> None:
    deploy(engine)
    call = read(CHAT | {"stop": "END", "max_completion_tokens": 9}, chat=True)
    assert (call.document["stop"], call.document["max_tokens"]) == (["END"], 9)
    assert "max_completion_tokens" not in call.document


def test_values_that_tgi_refuses_and_that_ask_for_nothing_are_taken(deploy: Deploy) -> None:
    deploy("tgi")
    assert read(CHAT | {"temperature": 0, "top_p": 1}, chat=True).document == {"messages": MESSAGES, "temperature": 0}
    assert refusal(CHAT | {"temperature": -1}, chat=True).field == "temperature"
    deploy("vllm")
    assert read(CHAT | {"top_p": 1}, chat=True).document["top_p"] == 1  # over the model's own default


COMPLETION = {
    **PROMPT,
    "max_tokens": 9,
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 3,
    "user": "u1",
    "stream": True,
    "n": 1,
    "echo": False,
    "logprobs": None,
    "best_of": 1,
    "suffix": None,
    "presence_penalty": 0,
}
SAMPLED = {"max_new_tokens": 9, "temperature": 0.5, "top_p": 0.9, "top_k": 3, "do_sample": True}


@pytest.mark.parametrize(
    ("engine", "version", "own", "parameters"),
    [
        ("tgi", "1.4.0", {"stop": "END", "seed": 1}, {"stop": ["END"], "seed": 1, "details": True}),
        ("tgi-neuronx", "0.0.28", {"stop": ["END"]}, {"stop": ["END"], "details": True}),
        (
            *("lmi-vllm", "0.31.0-lmi13"),
            {"stop": "END", "presence_penalty": 1},
            {"stop_sequences": ["END"], "presence_penalty": 1, "details": True},
        ),
        ("lmi-deepspeed", "0.27.0", {"stop": []}, {}),
        ("huggingface", None, {}, {}),
    ],
)
def test_a_prompt_is_inputs_for_engines_without_prompts(
    deploy: Deploy, engine: str, version: str | None, own: dict[str, Any], parameters: dict[str, Any]
) -> None:
    deploy(engine, version, api={"openai": True})
    call = read(COMPLETION | own, chat=False)
    assert json.loads(call.unstreamed()) == {"inputs": "The sea is", "parameters": SAMPLED | parameters}
    assert call.engine_streams == (parameters != {})
    assert call.echo == ("" if parameters else "The sea is")


def test_a_machines_server_gets_its_own_words(deploy: Deploy) -> None:
    deploy("transformers")
    call = read(PROMPT | {"max_tokens": 9, "n": 2, "temperature": 0, "stop": "END"}, chat=False)
    parameters = {"max_new_tokens": 9, "num_return_sequences": 2, "temperature": 0, "stop": ["END"], "details": True}
    assert json.loads(call.unstreamed()) == {"inputs": "The sea is", "parameters": parameters}
    assert refusal(PROMPT | {"max_token": 9}, chat=False).field == "max_token"
    assert refusal(PROMPT | {"n": 17}, chat=False).field == "n"


def test_a_machines_server_takes_several_texts_and_repeats_them(deploy: Deploy) -> None:
    deploy("transformers")
    call = read({"prompt": ["a", "b"], "echo": True}, chat=False)
    assert call.document == {"inputs": ["a", "b"], "parameters": {"return_full_text": True, "details": True}}
    error = refusal({"prompt": ["a"] * 5, "n": 16}, chat=False)
    assert (error.field, "80 answers; at most 64" in error.message) == ("prompt", True)
    assert "texts, not ids" in refusal({"prompt": [1, 2]}, chat=False).message
    assert refusal(PROMPT | {"echo": True, "max_tokens": 0}, chat=False).field == "max_tokens"


NEUTRAL: dict[str, Any] = {
    "frequency_penalty": 0,
    "presence_penalty": 0.0,
    "logit_bias": {},
    "n": 1,
    "store": False,
    "metadata": {"a": "b"},
    "service_tier": "auto",
    "safety_identifier": "u1",
    "parallel_tool_calls": True,
}
OF_CHATS: dict[str, Any] = {
    "logprobs": False,
    "top_logprobs": 0,
    "tools": [],
    "tool_choice": "none",
    "modalities": ["text"],
    "response_format": {"type": "text"},
    "repetition_penalty": 1.0,
}


def test_values_that_ask_for_nothing_pass_where_the_engine_refuses_unknown_names(deploy: Deploy) -> None:
    deploy("transformers")
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    call = read(CHAT | NEUTRAL | OF_CHATS | streamed, chat=True)
    assert json.loads(call.unstreamed()) == {"messages": MESSAGES, "n": 1}
    assert call.with_usage
    call = read(PROMPT | NEUTRAL | streamed | {"echo": False, "suffix": "", "best_of": 1}, chat=False)
    assert json.loads(call.unstreamed()) == {"inputs": "The sea is", "parameters": {"details": True}}


@pytest.mark.parametrize("engine", WITH_MESSAGES)
def test_what_asks_for_nothing_in_a_form_that_some_engines_refuse_reaches_none(deploy: Deploy, engine: str) -> None:
    deploy(engine)
    empty: dict[str, Any] = {"response_format": {"type": "text"}, "logit_bias": {}, "stop": "", "functions": []}
    choices = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": False, "function_call": "none"}
    model = {"model": MODEL} if engine == "custom" else {}
    assert json.loads(read(CHAT | empty | choices, chat=True).unstreamed()) == {"messages": MESSAGES, **model}


def test_a_choice_among_tools_reaches_the_engine(deploy: Deploy) -> None:
    deploy("vllm")
    choice = {"tools": [tool()], "tool_choice": "none", "parallel_tool_calls": False}
    assert json.loads(read(CHAT | choice, chat=True).unstreamed()) == {"messages": MESSAGES, **choice}


@pytest.mark.parametrize(
    "more",
    [
        *({"frequency_penalty": 0.1}, {"logprobs": True}, {"top_logprobs": 2}, {"tools": [tool()]}, {"store": True}),
        *({"tool_choice": "required"}, {"response_format": {"type": "json_object"}}, {"logit_bias": {"1": 1}}),
        *({"reasoning_effort": "low"}, {"repetition_penalty": 1.2}, {"modalities": ["text", "audio"]}),
    ],
)
def test_what_a_machines_server_cannot_do_is_refused_by_name(deploy: Deploy, more: dict[str, Any]) -> None:
    deploy("transformers")
    error = refusal(CHAT | more, chat=True)
    assert (error.status, error.code, error.field) == (400, "invalid_parameter", *more)


@pytest.mark.parametrize("engine", ["tgi", "lmi-deepspeed"])
@pytest.mark.parametrize(
    "more", [{"temperature": 0}, {"temperature": 0, "top_p": 1}, {"temperature": 0.0, "top_p": 0.5}]
)
def test_temperature_0_is_the_most_likely_token(deploy: Deploy, engine: str, more: dict[str, Any]) -> None:
    deploy(engine, "1.4.0" if engine == "tgi" else None, api={"openai": True})
    parameters = read(PROMPT | more, chat=False).document["parameters"]
    assert {name: parameters.get(name) for name in ("do_sample", "temperature", "top_p")} == {
        "do_sample": False,
        "temperature": None,
        "top_p": None,
    }


@pytest.mark.parametrize(
    "more",
    [
        *({"n": 2}, {"best_of": 3}, {"echo": True}, {"logprobs": 0}, {"suffix": "x"}, {"logit_bias": {"1": 1}}),
        *({"stop": ["x"]}, {"seed": 1}, {"frequency_penalty": 0.1}, {"presence_penalty": 0.1}),
    ],
)
def test_what_an_engine_has_no_word_for_is_refused_by_name(deploy: Deploy, more: dict[str, Any]) -> None:
    deploy("lmi-deepspeed", api={"openai": True})
    error = refusal(PROMPT | more, chat=False)
    assert (error.status, error.code, error.field) == (400, "invalid_parameter", *more)
    assert "lmi-deepspeed has no such parameter" in error.message


@pytest.mark.parametrize("prompt", [["a", "b"], [1, 2], [[1, 2]]])
def test_inputs_are_one_text(deploy: Deploy, prompt: Any) -> None:
    deploy("tgi", "1.4.0", api={"openai": True})
    error = refusal({"prompt": prompt}, chat=False)
    assert (error.status, error.code, error.field) == (400, "invalid_input", "prompt")
    assert read({"prompt": ["a"]}, chat=False).document["inputs"] == "a"


def test_a_range_of_the_engine_is_told_in_the_callers_words(deploy: Deploy) -> None:
    deploy("tgi", "1.4.0", api={"openai": True})
    error = refusal(PROMPT | {"max_tokens": 0}, chat=False)
    assert (error.field, "at least 1" in error.message) == ("max_tokens", True)


def test_a_range_of_an_engine_that_does_not_serve_yet_refuses_nothing(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy("lmi-vllm")
    monkeypatch.setattr(deployed_engine, "serves", lambda: False)
    assert read(CHAT | {"temperature": -1}, chat=True)


@pytest.mark.parametrize("document", [CHAT, PROMPT, {}])
def test_a_chat_without_a_template_is_refused_with_the_way_out(deploy: Deploy, document: Any) -> None:
    deploy("tgi", "1.4.0", api={"openai": True})
    error = refusal(document, chat=True)
    assert (error.status, error.code, error.field) == (400, "unsupported_body", "messages")
    assert "POST completions" in error.message


def test_a_completion_of_an_engine_for_chats_is_refused_with_the_way_out(deploy: Deploy) -> None:
    deploy("sglang")
    error = refusal(PROMPT, chat=False)
    assert (error.status, error.code, error.field) == (400, "unsupported_body", "prompt")
    assert "POST chat/completions" in error.message


@pytest.mark.parametrize(("document", "chat"), [(PROMPT, True), (CHAT, False), ({"inputs": "a"}, False), ({}, True)])
def test_the_prompt_of_another_route_is_refused(deploy: Deploy, document: Any, chat: bool) -> None:
    deploy("lmi-vllm")
    error = refusal(document, chat=chat)
    assert error.code == "unsupported_body"
    assert f'this route takes a prompt as "{"messages" if chat else "prompt"}"' in error.message


def test_schemas_nest_deep_but_not_without_end(deploy: Deploy) -> None:
    deploy("vllm")
    assert refusal(CHAT | {"tools": [tool(60)]}, chat=True).code == "invalid_json"
    assert read(CHAT | {"vllm_xargs": schema(20)}, chat=True)


_near = st.dictionaries(
    st.sampled_from(
        ["messages", "prompt", "model", "stream", "stream_options", "tools", "stop", "n", "max_tokens", "echo"]
    ),
    _json,
    max_size=5,
)


@pytest.mark.parametrize(("engine", "version"), [("lmi-vllm", None), ("tgi", "1.4.0"), ("transformers", None)])
@pytest.mark.parametrize("chat", [True, False])
def test_any_body_at_all_is_taken_or_refused_in_our_shape(
    deploy: Deploy, engine: str, version: str | None, chat: bool
) -> None:
    deploy(engine, version, api={"openai": True})

    @given(st.binary() | _near)
    @hypothesis_settings(max_examples=60, suppress_health_check=list(HealthCheck))
    def taken_or_refused(document: Any) -> None:
        raw = document if isinstance(document, bytes) else json.dumps((CHAT if chat else PROMPT) | document).encode()
        try:
            call = read_call(raw, None, chat=chat)
        except ApiError as error:
            error.message.encode()
            if not 400 <= error.status < 500:
                raise
        else:
            json.loads(call.streamed())
            json.loads(call.unstreamed())

    taken_or_refused()


def test_an_adapter_is_chosen_by_its_name_and_stays_in_the_body(deploy: Deploy) -> None:
    deploy("lmi-vllm", model={"id": MODEL, "adapters": {"legal": "s3://bucket/legal/"}})
    call = read(CHAT | {"model": "legal"}, chat=True)
    assert (call.model, call.document["model"]) == ("legal", "legal")
    assert json.loads(call.unstreamed())["model"] == "legal", "a job keeps the choice"
    assert "model" not in read(CHAT, chat=True).document
    assert refusal(CHAT | {"model": "sales"}, chat=True).code == "model_not_found"


def test_an_engine_that_loads_its_adapter_itself_gets_its_name(deploy: Deploy) -> None:
    deploy("vllm", model={"id": MODEL, "adapters": {"legal": "org/legal"}})
    assert read(CHAT | {"model": "legal"}, chat=True).document["model"] == "legal"
