"""The bodies that reach the model, and the errors for the others."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_api.model.request_body import answer_tokens, body_for_model, check_request_body
from inference_api.shared.errors import ApiError
from inference_api.shared.request_rules import RequestRules
from llm_hosting.catalog.engines import engine
from model_src.generation.request import RequestError, Sampling, parse

RANGES = {
    "temperature": {"exclusive_minimum": 0},
    "top_p": {"exclusive_minimum": 0, "exclusive_maximum": 1},
    "top_k": {"minimum": 1},
    "best_of": {"maximum": 2},
}
TGI = RequestRules(engine="tgi", bodies=("inputs",), ranges=RANGES, max_bytes=1000)
LMI = RequestRules(engine="lmi-vllm", bodies=("inputs", "messages", "prompt"), ranges={}, max_bytes=1000)
ANY = RequestRules("any", ("inputs", "messages", "prompt"), {}, max_bytes=1000)
PUBLISHED = RequestRules(
    engine="transformers",
    bodies=("inputs", "prompt"),
    ranges={
        "num_samples": {"minimum": 1, "maximum": 16},
        "num_return_sequences": {"minimum": 1, "maximum": 16},
        "length": {"minimum": 1},
        "top_n": {},
        "temperature": {"minimum": 0},
        "top_p": {"maximum": 1},
    },
    max_bytes=1000,
)


ROW = engine("transformers")
STRICT = RequestRules("transformers", ("inputs", "messages", "prompt"), ROW.parameters, 9000, (), ROW.names, 64)


def serves() -> bool:
    return True


def refusal(body: bytes, rules: RequestRules = TGI, content_type: str | None = "application/json") -> dict[str, Any]:
    with pytest.raises(ApiError) as caught:
        check_request_body(body, content_type, rules, serves)
    error = caught.value
    return {"status": error.status, "code": error.code, "message": error.message, "field": error.field}


def accept(document: Any, rules: RequestRules = TGI) -> None:
    check_request_body(json.dumps(document).encode(), "application/json", rules, serves)


@pytest.mark.parametrize("inputs", ["The sea is", ["The sea", "The sky"], "half a \U0001f600", " "])
def test_a_text_and_a_list_of_texts_pass(inputs: Any) -> None:
    accept({"inputs": inputs})


@pytest.mark.parametrize(
    "document",
    [
        {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 10},
        {"prompt": "The sea is", "stop": "."},
        {"prompt": ["The sea is"], "stop": ["."]},
    ],
)
def test_chat_and_completions_pass_where_the_engine_takes_them(document: Any) -> None:
    accept(document, LMI)


@pytest.mark.parametrize("content_type", [None, "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_taken_under_each_of_its_names(content_type: str | None) -> None:
    check_request_body(b'{"inputs": "The sea is"}', content_type, TGI, serves)


@pytest.mark.parametrize(
    ("body", "passed_on"),
    [
        (b'{"model": "lmi", "prompt": "caf\xc3\xa9", "top_p": 0.1}', b'{"prompt": "caf\xc3\xa9", "top_p": 0.1}'),
        (b'{"model":"Qwen/Qwen3-4B","prompt":"a"}', b'{"model":"Qwen/Qwen3-4B","prompt":"a"}'),
        (b'{ "prompt":"a" }', b'{ "prompt":"a" }'),
        (b'{"model": ["lmi"], "prompt": "a"}', b'{"model": ["lmi"], "prompt": "a"}'),
        (b'{"model": null, "prompt": "a"}', b'{"model": null, "prompt": "a"}'),
    ],
)
def test_only_a_name_that_the_container_does_not_know_is_left_out(body: bytes, passed_on: bytes) -> None:
    rules = replace(LMI, model_aliases=("lmi",))
    assert body_for_model(body, check_request_body(body, None, rules, serves), rules) == passed_on


def test_unknown_keys_and_parameters_are_left_to_the_engine() -> None:
    accept({"inputs": "The sea is", "batch_size": 4, "padding": True, "parameters": {"adapter_id": [1], "seed": None}})


@pytest.mark.parametrize("body", [b"", b" \r\n\t"])
def test_an_empty_body_is_called_empty(body: bytes) -> None:
    error = refusal(body)
    assert (error["status"], error["code"]) == (400, "empty_body")
    assert "empty" in error["message"]


@pytest.mark.parametrize("document", [{}, {"parameters": {"max_new_tokens": 5}}])
def test_json_without_a_prompt_is_called_invalid(document: Any) -> None:
    error = refusal(json.dumps(document).encode())
    assert (error["status"], error["code"]) == (400, "unsupported_body")
    assert error["message"] == 'The body is invalid: tgi takes a prompt as "inputs"; the body has none.'


@pytest.mark.parametrize(("inputs", "field"), [("", "inputs"), ([], "inputs"), (["a", ""], "inputs[1]")])
def test_an_empty_prompt_is_called_invalid(inputs: Any, field: str) -> None:
    error = refusal(json.dumps({"inputs": inputs}).encode())
    assert (error["status"], error["code"], error["field"]) == (400, "empty_input", field)
    assert "invalid" in error["message"]


@pytest.mark.parametrize("body", [{"messages": [{"role": "user"}]}, {"inputs": "a", "messages": []}])
def test_a_refused_shape_comes_with_the_shapes_of_the_engine(body: Any) -> None:
    error = refusal(json.dumps(body).encode())
    assert (error["status"], error["code"]) == (400, "unsupported_body")
    assert 'as "inputs"; the body has' in error["message"]


def test_two_prompts_are_one_too_many() -> None:
    error = refusal(b'{"inputs": "a", "prompt": "b"}', LMI)
    assert error["code"] == "unsupported_body"
    assert error["message"].endswith('as "inputs" or "messages" or "prompt"; the body has "inputs", "prompt".')


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"inputs=The sea", "Expecting value at line 1, column 1"),
        (b'{"inputs": "a",}', "line 1, column"),
        (b'{"inputs": "a"} {}', "Extra data at line 1, column 17"),
        (b'{"inputs": "a", "inputs": "b"}', 'the key "inputs" appears more than once'),
        (b'{"inputs": "a", "parameters": {"top_p": NaN}}', "NaN is not a JSON number"),
        (b'{"inputs": "a", "parameters": {"top_p": -Infinity}}', "-Infinity is not a JSON number"),
        (b'{"inputs": "a", "parameters": {"top_p": 1e999}}', "a number is too large"),
        (b'{"inputs": "\\ud83d alone"}', "half of a surrogate pair"),
        (b'{"inputs": "a", "\\udc00": 1}', "half of a surrogate pair"),
        (b'{"inputs": "\xff"}', "not UTF-8"),
        (b'\xef\xbb\xbf{"inputs": "a"}', "byte order mark"),
        (b'["inputs"]', "must be a JSON object"),
        (b'"inputs"', "must be a JSON object"),
    ],
)
def test_ambiguous_json_is_refused(body: bytes, reason: str) -> None:
    error = refusal(body)
    assert (error["status"], error["code"]) == (400, "invalid_json")
    assert reason in error["message"]


def test_a_hundred_levels_are_taken_and_one_more_is_not() -> None:
    accept({"inputs": "a", "x": json.loads(99 * "[" + 99 * "]")})
    error = refusal(b'{"inputs": "a", "x": ' + 100 * b"[" + 100 * b"]" + b"}")
    assert error["code"] == "invalid_json"
    assert error["message"] == "The body is nested more than 100 levels deep; make it flatter."


@pytest.mark.parametrize("deep", [b"[", b'{"a":'])
def test_nesting_that_exhausts_a_parser_is_an_answer_and_not_a_crash(deep: bytes) -> None:
    roomy = RequestRules(engine="tgi", bodies=("inputs",), ranges={}, max_bytes=1_000_000)
    assert refusal(100_000 * deep, roomy)["code"] == "invalid_json"


def test_a_number_that_python_refuses_to_convert_is_an_answer_and_not_a_crash() -> None:
    roomy = RequestRules(engine="tgi", bodies=("inputs",), ranges={}, max_bytes=10_000)
    assert "too many digits" in refusal(b'{"inputs": ' + 5000 * b"1" + b"}", roomy)["message"]


def test_the_largest_body_is_taken_and_one_byte_more_is_not() -> None:
    largest = b'{"inputs": "%s"}' % (b"a" * (TGI.max_bytes - len(b'{"inputs": ""}')))
    check_request_body(largest, None, TGI, serves)
    error = refusal(largest + b" ")
    assert (error["status"], error["code"]) == (413, "body_too_large")
    assert "1001 bytes; at most 1000" in error["message"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
def test_another_content_type_is_refused(content_type: str) -> None:
    error = refusal(b'{"inputs": "a"}', content_type=content_type)
    assert (error["status"], error["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"inputs": 1}, "inputs"),
        ({"inputs": {"text": "a"}}, "inputs"),
        ({"inputs": ["a", None]}, "inputs[1]"),
        ({"messages": "Hello"}, "messages"),
        ({"messages": [{"content": "a"}]}, "messages[0]"),
        ({"prompt": True}, "prompt"),
        ({"messages": ["Hello"]}, "messages[0]"),
    ],
)
def test_a_prompt_of_the_wrong_type_is_named(body: Any, field: str) -> None:
    error = refusal(json.dumps(body).encode(), LMI)
    assert (error["status"], error["code"], error["field"]) == (400, "invalid_input", field)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_new_tokens", True),
        ("max_new_tokens", "20"),
        ("max_new_tokens", 20.0),
        ("temperature", "hot"),
        ("top_p", False),
        ("do_sample", 1),
        ("stop", "."),
        ("stop", ["a", 1]),
        ("seed", []),
    ],
)
def test_a_parameter_of_the_wrong_type_is_named(name: str, value: Any) -> None:
    error = refusal(json.dumps({"inputs": "a", "parameters": {name: value}}).encode())
    assert (error["status"], error["code"], error["field"]) == (400, "invalid_parameter", f"parameters.{name}")
    assert "must be" in error["message"]
    assert f"not {json.dumps(value)}" in error["message"]


def test_stop_may_be_one_string_beside_a_prompt() -> None:
    error = refusal(b'{"prompt": "a", "stop": 3}', LMI)
    assert error["message"] == "stop: must be a string or a list of strings, not 3."


def test_parameters_must_be_an_object() -> None:
    assert refusal(b'{"inputs": "a", "parameters": [1]}')["field"] == "parameters"


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("temperature", 0, "greater than 0"),
        ("top_p", 1.0, "less than 1"),
        ("top_p", -0.1, "greater than 0"),
        ("top_k", 0, "at least 1"),
        ("best_of", 3, "at most 2"),
    ],
)
def test_a_refused_value_comes_with_its_range(name: str, value: float, allowed: str) -> None:
    error = refusal(json.dumps({"inputs": "a", "parameters": {name: value}}).encode())
    message = f"parameters.{name}: {value} is refused by tgi; it must be {allowed}."
    assert (error["status"], error["code"], error["message"]) == (400, "invalid_parameter", message)


def test_an_engine_without_the_range_gets_the_value() -> None:
    accept({"inputs": "a", "parameters": {"temperature": 0, "top_k": -1}}, LMI)


@pytest.mark.parametrize("name", ["n", "best_of", "num_samples", "num_return_sequences", "num_beams"])
@pytest.mark.parametrize(
    "document", [{"inputs": "a"}, {"prompt": "a"}, {"messages": [{"role": "user", "content": "a"}]}]
)
def test_no_request_asks_an_engine_for_more_than_128_answers(document: dict[str, Any], name: str) -> None:
    def body(copies: int) -> dict[str, Any]:
        return {**document, **({"parameters": {name: copies}} if "inputs" in document else {name: copies})}

    accept(body(128), LMI)
    error = refusal(json.dumps(body(1_000_000)).encode(), LMI)
    field = f"parameters.{name}" if "inputs" in document else name
    message = f"{field}: 1000000 is refused by this service; it must be at most 128."
    assert (error["status"], error["field"], error["message"]) == (400, field, message)


@pytest.mark.parametrize("more", [{"inputs": ["a"] * 2049}, {"prompt": ["a"] * 17, "n": 128}, {"prompt": [[1]] * 2049}])
def test_the_samples_of_all_texts_have_a_limit_on_every_engine(more: dict[str, Any]) -> None:
    rules = replace(LMI, max_bytes=100_000)
    error = refusal(json.dumps(more).encode(), rules)
    assert (error["code"], "at most 2048 are taken" in error["message"]) == ("invalid_parameter", True)
    fewer = {name: value[:-1] if isinstance(value, list) else value for name, value in more.items()}
    accept(fewer, rules)


def test_chat_parameters_are_checked_beside_the_messages() -> None:
    error = refusal(b'{"messages": [{"role": "user", "content": "a"}], "max_tokens": "9"}', LMI)
    assert (error["code"], error["field"]) == ("invalid_parameter", "max_tokens")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"inputs": "a", "stream": True}, "stream"),
        ({"inputs": "a", "stream": 1}, "stream"),
        ({"inputs": "a", "parameters": {"stream": True}}, "parameters.stream"),
        ({"prompt": "a", "stream": 0}, "stream"),
    ],
)
def test_streaming_is_refused_in_so_many_words(body: Any, field: str) -> None:
    error = refusal(json.dumps(body).encode(), LMI)
    assert (error["status"], error["code"], error["field"]) == (400, "stream_not_supported", field)


def test_streaming_switched_off_passes() -> None:
    accept({"inputs": "a", "stream": False, "parameters": {"stream": None}})


@pytest.mark.parametrize(
    "document",
    [
        {"messages": [{"role": "user", "content": "a"}]},
        {"prompt": "a"},
        {"inputs": "a", "parameters": {"temperature": 0}},
        {"prompt": "a", "top_k": 0},
    ],
)
def test_a_rule_of_an_engine_that_does_not_serve_yet_refuses_nothing(document: Any) -> None:
    body = json.dumps(document).encode()
    assert check_request_body(body, None, TGI, lambda: False) == document
    with pytest.raises(ApiError):
        check_request_body(body, None, TGI, serves)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"inputs": "a", "prompt": "b"},
        {"prompt": ""},
        {"messages": [{"content": "a"}]},
        {"prompt": "a", "top_k": "many"},
        {"prompt": "a", "stream": True},
        {"prompt": "a", "x": json.loads(100 * "[" + 100 * "]")},
    ],
)
def test_rules_of_every_engine_hold_whichever_serves(document: Any) -> None:
    with pytest.raises(ApiError):
        check_request_body(json.dumps(document).encode(), None, TGI, lambda: False)


@pytest.mark.parametrize("document", [{"inputs": "a"}, {}, {"inputs": 5}])
def test_nobody_asks_which_engine_serves_for_a_body_that_breaks_none_of_its_rules(document: Any) -> None:
    def asked() -> bool:
        raise AssertionError

    with suppress(ApiError):
        check_request_body(json.dumps(document).encode(), None, TGI, asked)


_texts = st.text("a\u00e9\ud83d\U0001f600", max_size=4)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=12,
)
_names = st.sampled_from(["inputs", "messages", "prompt", "parameters", "stream", "temperature", "stop", "role"])
_near_misses = st.dictionaries(_names, _json | st.dictionaries(_names, _json, max_size=3), max_size=4)


@given(body=st.binary() | _near_misses.map(lambda document: json.dumps(document).encode()))
def test_any_body_at_all_is_taken_or_refused_in_our_shape(body: bytes) -> None:
    refusal = None
    try:
        check_request_body(body, None, LMI, serves)
    except ApiError as error:
        refusal = error
    if refusal:
        assert 400 <= refusal.status < 500
        refusal.message.encode()
    else:
        assert isinstance(json.loads(body.decode()), dict), "every other parser reads an accepted body, too"


@pytest.mark.parametrize(
    ("document", "tokens"),
    [
        ({"inputs": "x", "parameters": {"max_new_tokens": 20}}, 20),
        ({"inputs": ["x", "y"], "parameters": {"max_new_tokens": 20}}, 40),
        ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 7, "n": 3}, 21),
        ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 7, "max_completion_tokens": 9}, 9),
        ({"prompt": ["x", "y", "z"], "max_tokens": 5, "best_of": 2}, 30),
        ({"inputs": "x", "parameters": {"max_new_tokens": 20, "n": -5}}, 20),
    ],
)
def test_the_longest_answers_count_against_a_budget(document: dict[str, Any], tokens: int) -> None:
    assert answer_tokens(document, ANY) == tokens


@pytest.mark.parametrize(
    ("document", "tokens"),
    [
        ({"prompt": "x", "num_samples": 4, "length": 20}, 80),
        ({"prompt": ["x", "y"], "num_samples": 4, "length": 20}, 160),
        ({"inputs": "x", "parameters": {"max_new_tokens": 20, "num_return_sequences": 3}}, 60),
    ],
)
def test_all_samples_of_a_published_request_count_against_a_budget(document: dict[str, Any], tokens: int) -> None:
    assert answer_tokens(document, PUBLISHED) == tokens


def test_a_published_request_under_a_budget_needs_its_own_limit() -> None:
    with pytest.raises(ApiError) as caught:
        answer_tokens({"prompt": "x"}, PUBLISHED)
    assert caught.value.field == "length"


def test_a_length_that_the_engine_does_not_know_limits_nothing() -> None:
    with pytest.raises(ApiError) as caught:
        answer_tokens({"prompt": "x", "length": 1}, ANY)
    assert caught.value.field == "max_tokens"


@pytest.mark.parametrize(
    "wrong",
    [
        *({"num_samples": value} for value in (0, 17, 1.5, "3", True)),
        *({"length": value} for value in (0, 2.0, "20")),
        *({"top_n": value} for value in ("many", 0.5)),
        *({"temperature": value} for value in (-0.1, "hot")),
        {"top_p": 1.1},
    ],
)
def test_published_parameters_have_types_and_ranges(wrong: dict[str, Any]) -> None:
    error = refusal(json.dumps({"prompt": "a"} | wrong).encode(), PUBLISHED)
    assert (error["code"], error["field"]) == ("invalid_parameter", *wrong)


def test_the_published_request_passes_with_all_its_names() -> None:
    accept({"prompt": "a", "num_samples": 3, "length": 20, "temperature": 0, "top_p": 0, "top_n": -1}, PUBLISHED)


CHAT = {"messages": [{"role": "user", "content": "a"}]}


@pytest.mark.parametrize(
    ("document", "field", "words"),
    [
        ({"prompt": "a", "lenght": 5}, "lenght", "did you mean length?"),
        ({"prompt": "a", "max_tokens": 5}, "max_tokens", "has no such parameter"),
        ({"prompt": "a", "n": 2}, "n", "has no such parameter"),
        ({"prompt": "a", "top_n": 2, "top_k": 2}, "top_n", "the same as top_k"),
        ({"inputs": "a", "parameters": {"length": 5}}, "parameters.length", "has no such parameter"),
        ({"inputs": "a", "max_new_tokens": 5}, "max_new_tokens", "has no such parameter"),
        ({**CHAT, "top_n": 5}, "top_n", "did you mean top_p?"),
        ({**CHAT, "n": 17}, "n", "at most 16"),
        ({"prompt": "a", "seed": -1}, "seed", "at least 0"),
        ({"prompt": "a", "seed": 2**62 + 1}, "seed", "at most 4611686018427387904"),
        ({"prompt": "a", "temperature": 10**400}, "temperature", "at most 100"),
        ({"prompt": "a", "stop": ""}, "stop", "no empty text"),
        ({"inputs": "a", "parameters": {"stop_sequences": ["a", ""]}}, "parameters.stop_sequences", "no empty text"),
        ({"prompt": ["a"] * 65}, "prompt", "65 answers; at most 64"),
        ({"inputs": ["a"] * 5, "parameters": {"num_return_sequences": 13}}, "inputs", "65 answers; at most 64"),
    ],
)
def test_what_a_strict_engine_always_refuses_is_refused_at_once(document: Any, field: str, words: str) -> None:
    body = json.dumps(document).encode()
    error = refusal(body, STRICT)
    assert (error["status"], error["code"], error["field"]) == (400, "invalid_parameter", field)
    assert words in error["message"]
    with pytest.raises(RequestError):
        parse(body, Sampling())
    accept(document, replace(LMI, max_bytes=9000))


def test_the_door_and_the_engine_know_the_same_names() -> None:
    values: dict[str, Any] = {"do_sample": True, "return_full_text": True, "details": True, "stream": False}
    values |= {"stop_sequences": ["a"]}
    values |= {"stop": ["a"], "chat_template_kwargs": {}, "model": "m", "user": "u", "parameters": {}}
    for form, by_prefix in ROW.names.items():
        prompt = CHAT if form == "messages" else {form: ["a"] * 4}
        for prefix, names in by_prefix.items():
            for name in " ".join(names).split():
                given = {} if name == form else {name: values.get(name, 1)}
                document = prompt | ({"parameters": given} if prefix else given)
                accept(document, STRICT)
                parse(json.dumps(document).encode(), Sampling())


def test_nulls_and_a_full_request_pass_a_strict_engine() -> None:
    accept({"prompt": ["a"] * 4, "num_samples": 16, "stop": [], "lenght": None, "top_k": None, "top_n": 1}, STRICT)


def test_other_engines_judge_the_published_names_themselves() -> None:
    accept({"prompt": "a", "num_samples": "3", "length": 0, "top_n": 0.5}, LMI)


@pytest.mark.parametrize("parameters", [{}, {"max_new_tokens": 0}, {"max_new_tokens": None}, None])
def test_under_a_budget_an_answer_needs_a_limit(parameters: Any) -> None:
    with pytest.raises(ApiError) as caught:
        answer_tokens({"inputs": "x", "parameters": parameters}, ANY)
    assert caught.value.field == "parameters.max_new_tokens"
