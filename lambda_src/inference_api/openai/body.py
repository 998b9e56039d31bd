"""The body of an OpenAI request -> the call that the engine takes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inference_api.keys.named_key import AuthorizedKey
from inference_api.model import deployed_engine
from inference_api.model.generation_parameters import check_names, check_parameters
from inference_api.model.request_body import check_request_body
from inference_api.openai.call import Form, OpenAICall
from inference_api.openai.inputs import as_inputs
from inference_api.openai.neutral import asks_for_nothing, without_empty
from inference_api.shared import errors
from inference_api.shared.errors import ApiError, EngineRuleError
from inference_api.shared.request_rules import RequestRules
from inference_api.shared.settings import Settings, settings


def read_call(body: bytes, content_type: str | None, *, chat: bool, key: AuthorizedKey | None = None) -> OpenAICall:
    """Check a request of POST /chat/completions or /completions, and translate it for the engine.

    chat: whether it is a chat. key: the caller's, which may have a list of models. Raises ApiError 400, 404
    `model_not_found`, 413 or 415.
    """
    deployed = settings()
    form: Form = "messages" if chat else "prompt"
    rules = deployed.request_rules
    _demand_route(deployed, chat)
    of_route = replace(rules, engine="this route", bodies=(form,), ranges={}, names=None)
    document = check_request_body(body, content_type, of_route, lambda: True, may_stream=True)
    check_model_name(document.get("model"), deployed, key)
    with_usage = _check_stream_options(document)
    facts, echo = deployed.openai, ""
    if not chat and facts.inputs:
        form, of_engine = "inputs", as_inputs(document, facts.inputs, rules.engine)
        if facts.inputs == "plain":
            echo = of_engine["inputs"]
    else:
        of_engine = _in_the_words_of_engines(document, rules)
        if facts.grammar:
            of_engine = _with_grammar(of_engine)
    dropped = {"stream"} if facts.keeps_model else {"stream", "model"}
    if form not in facts.asks_usage and not facts.keeps_model:
        dropped.add("stream_options")
    of_engine = {name: value for name, value in of_engine.items() if name not in dropped}
    of_engine = _without_neutral(of_engine, form, rules)
    if adapter := document.get("model") if document.get("model") in deployed.adapters else None:
        of_engine["model"] = adapter
    try:
        _check_engine_rules(document, of_engine, form, rules)
    except EngineRuleError:
        if deployed_engine.serves():
            raise
    return OpenAICall(
        document=of_engine,
        form=form,
        chat=chat,
        model=adapter or deployed.model_id,
        streams=bool(document.get("stream")),
        with_usage=with_usage,
        engine_streams=form in facts.streams,
        asks_usage=form in facts.asks_usage,
        echo=echo,
    )


def _demand_route(deployed: Settings, chat: bool) -> None:
    """Raises ApiError 400 if the deployment lacks this route. The error names the other one."""
    if ("chat" if chat else "completions") in deployed.openai_routes:
        return
    engine = deployed.request_rules.engine
    if chat:
        message = (
            f"messages: {engine} applies no chat template to this model; POST completions with a prompt "
            "in the format of the model's card."
        )
        raise ApiError("unsupported_body", message, field="messages")
    message = f"prompt: {engine} takes messages only; POST chat/completions."
    raise ApiError("unsupported_body", message, field="prompt")


def check_model_name(name: Any, deployed: Settings, key: AuthorizedKey | None) -> None:
    """Raises ApiError for an unknown model. If the deployment takes any name, a key with a list of models does not."""
    if name is not None and not isinstance(name, str):
        raise ApiError("invalid_parameter", "model: must be a string.", field="model")
    takes_any = deployed.openai.any_model and (key is None or key.models is None)
    if name and name not in (*deployed.model_names, *deployed.adapters) and not takes_any:
        raise errors.model_not_found(name)


def _check_stream_options(document: Mapping[str, Any]) -> bool:
    """Return whether the caller wants the tokens of a stream. Raises ApiError 400."""
    options = document.get("stream_options")
    if options is None:
        return False
    if not isinstance(options, dict):
        raise ApiError("invalid_parameter", "stream_options: must be an object.", field="stream_options")
    if not document.get("stream"):
        message = "stream_options: is allowed only with stream: true; remove it."
        raise ApiError("invalid_parameter", message, field="stream_options")
    for name, value in options.items():
        if name == "include_usage" and not isinstance(value, bool | None):
            field = "stream_options.include_usage"
            raise ApiError("invalid_parameter", f"{field}: must be true or false.", field=field)
    return bool(options.get("include_usage"))


def _in_the_words_of_engines(document: dict[str, Any], rules: RequestRules) -> dict[str, Any]:
    """Use the forms that all engines know: a list for `stop`, and `max_tokens` for the length."""
    found = without_empty(document)
    if isinstance(found.get("stop"), str):
        found["stop"] = [found["stop"]]
    if found.get("max_completion_tokens") is not None:
        found["max_tokens"] = found.pop("max_completion_tokens")
    # TGI's maximum is exclusive, and a value of 1 changes nothing.
    if found.get("top_p") == 1 and "exclusive_maximum" in rules.ranges.get("top_p", {}):
        del found["top_p"]
    return found


def _with_grammar(of_engine: dict[str, Any]) -> dict[str, Any]:
    """Name the schema of the answer as TGI does (GrammarType in router/src/lib.rs)."""
    form = of_engine.get("response_format")
    named = form.get("json_schema") if isinstance(form, dict) and form.get("type") == "json_schema" else None
    if not isinstance(named, dict) or "schema" not in named:
        return of_engine
    return of_engine | {"response_format": {"type": "json", "value": named["schema"]}}


def _without_neutral(of_engine: dict[str, Any], form: str, rules: RequestRules) -> dict[str, Any]:
    """Drop parameters that the engine does not know and whose value changes nothing, if it refuses unknown names."""
    if rules.names is None:
        return of_engine
    where = "parameters" if form == "inputs" else ""
    known = {name for each in rules.names[form][where and f"{where}."] for name in each.split()}
    fields = of_engine[where] if where else of_engine
    kept = {name: value for name, value in fields.items() if name in known or not asks_for_nothing(name, value)}
    return {**of_engine, where: kept} if where else kept


def _check_engine_rules(
    document: Mapping[str, Any], of_engine: Mapping[str, Any], form: str, rules: RequestRules
) -> None:
    """Check the engine's own rules. Raises EngineRuleError, whose field is the caller's name.

    TGI's temperature must be more than 0. In OpenAI's forms 0 is allowed, because it turns sampling off; in `inputs` it
    is not sent.
    """
    sent = of_engine["parameters"] if form == "inputs" else of_engine
    checked = {name: value for name, value in document.items() if name in sent or name not in ("temperature", "top_p")}
    if form == "inputs":
        checked.pop("prompt")  # these engines can't return the prompt alone
    ranges = dict(rules.ranges)
    if form == "inputs" and "max_new_tokens" in ranges:
        ranges["max_tokens"] = ranges["max_new_tokens"]
    if checked.get("temperature") == 0 and form != "inputs":
        ranges.pop("temperature", None)
    check_parameters(checked, ranges, engine=rules.engine, prefix="")
    for where, names in (rules.names or {}).get(form, {}).items():
        check_names(sent if where or form != "inputs" else of_engine, names, engine=rules.engine, prefix="")
