"""A container with an engine's own code: applies its limits, and answers in the shape of its family."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from local_cloud.model_server.contract.answer import (
    EngineAnswer,
    EngineFailedError,
    EngineRefusedError,
    RefusedError,
    StartError,
    json_answer,
)
from local_cloud.model_server.text.catalog_row import CatalogRow
from local_cloud.model_server.text.openai_chunks import Chunks
from local_cloud.model_server.text.openai_shape import completion
from local_cloud.model_server.text.pictures import Eye, Seen
from local_cloud.model_server.text.request import TextRequest, read_request
from local_cloud.model_server.text.shapes import shape_of
from local_cloud.model_server.text.source import Generation
from local_cloud.model_server.text.sources import source_of

# The context of Qwen3-4B, the default deployment's model; a real engine reads it from the model.
CONTEXT_TOKENS = 40_960
_ADAPTERS = "SLIPWAY_LOCAL_ADAPTERS"  # the folder in which each adapter has one of its name
TGI_PROMPT_TOKENS, TGI_TOKENS = 1024, 2048
# vLLM's wording.
NO_CHAT_TEMPLATE = (
    "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the "
    "tokenizer does not define one."
)
_BESIDE = Path(__file__).parents[3]  # what is around the package local_cloud
# In a wheel the library stands beside this package, in a checkout in constructs/.
MODELS = next(_BESIDE.glob("llm_hosting/catalog/models.json"), _BESIDE / "constructs/llm_hosting/catalog/models.json")


class TextEngine:
    """Answers invocations with text. Raises StartError for settings that the container refuses."""

    def __init__(self, row: CatalogRow, settings: Mapping[str, str], model_folder: Path | None) -> None:
        _demand_model(row, settings, model_folder)
        self._eye = Eye(row, settings, MODELS)
        self._row, self._shape, self._source = row, shape_of(row, settings), source_of(settings)
        self._adapters = Path(settings[_ADAPTERS]) if _ADAPTERS in settings else None
        self._checked_name = _checked_name(row, settings)
        self._model_name = self._checked_name or settings.get(row.variables.get("model", ""), "model")
        known = self._source.has_chat_template
        self._has_chat_template = _has_chat_template(row, settings) if known is None else known
        self._most_prompt_tokens, self._most_tokens = _token_limits(row, settings, self._source.context)
        self.most_concurrent_requests = _whole_number(settings, *self._shape.room)

    def refuse_overload(self) -> EngineAnswer:
        """The answer to a request beyond `most_concurrent_requests`."""
        status = self._shape.overloaded
        return json_answer(status, self._shape.error(status, "The model has too many requests"))

    def answer(self, raw: bytes, adapter: str = "") -> EngineAnswer:
        """The answer to one body. adapter: the name of the adapter that answers; "" = the model without one."""
        is_inputs = "inputs" in self._row.bodies
        model = adapter or self._model_name
        try:
            if adapter:
                self._demand_adapter(adapter)
            request = read_request(raw, self._row.bodies, takes_ids=self._shape.takes_ids)
            is_inputs = request.body == "inputs"
            if is_inputs and request.is_list and not self._shape.takes_lists:
                raise RefusedError("inputs must be one text")
            if request.body == "messages" and not self._has_chat_template:
                raise EngineRefusedError(NO_CHAT_TEMPLATE)
            self._check_name(request.model)
            self._check_chat(request)
            generations = self._generate(request, adapter)
            if request.is_streamed:
                return self._streamed(request, generations, model)
            if request.body == "inputs":
                whole = self._shape.outputs(request, generations)
            else:
                whole = completion(request, generations, model, self._shape.chats)
        except RefusedError as error:
            return json_answer(*self._shape.refusal(self._row, error, is_inputs))
        except EngineFailedError as error:
            return json_answer(self._failed, self._shape.error(self._failed, str(error)))
        return json_answer(200, whole, max(generation.tokens for generation in generations))

    @property
    def _failed(self) -> int:
        """The status of a failure."""
        return 424 if self._row.server == "djl" else 500

    def _streamed(self, request: TextRequest, generations: Sequence[Generation], model: str) -> EngineAnswer:
        """The answer, one part for each token; raises RefusedError if the engine does not stream."""
        stream = self._shape.stream
        if stream is None or (request.body == "inputs" and request.is_list):
            raise RefusedError("stream is not available for this request")
        end = stream.end[request.body == "inputs"]
        broken = stream.written(self._shape.error(self._failed, "The engine has failed.")) + end
        if request.body == "inputs":
            parts = stream.of_tokens(request, generations[0], lambda: self._output(request, generations))
            return EngineAnswer(200, b"", stream.content_type, parts=parts, ending=lambda: end, broken=broken)
        chunks = Chunks(request, generations, model, self._shape.chats)
        wants_usage = bool((request.parameters.get("stream_options") or {}).get("include_usage"))

        def ending() -> bytes:
            return (stream.written(chunks.usage()) if wants_usage else b"") + end

        parts = stream.of_chunks(chunks)
        return EngineAnswer(200, b"", stream.content_type, parts=parts, ending=ending, broken=broken)

    def _output(self, request: TextRequest, generations: Sequence[Generation]) -> dict[str, Any]:
        """The whole answer to one text."""
        output = self._shape.outputs(request, generations)
        whole: dict[str, Any] = output[0] if isinstance(output, list) else output
        return whole

    def _demand_adapter(self, name: str) -> None:
        if not (self._adapters and (self._adapters / name / "adapter_config.json").is_file()):
            raise EngineRefusedError(f"The adapter `{name}` does not exist.", 404, "model")

    def _check_name(self, name: Any) -> None:
        if self._checked_name and name not in (None, "", self._checked_name):
            raise EngineRefusedError(f"The model `{name}` does not exist.", 404, "model")

    def _check_chat(self, request: TextRequest) -> None:
        """Refuse chats as the real servers do: shapes that TGI cannot read; elsewhere a tool_choice without tools."""
        asked = request.parameters if request.body == "messages" else {}
        if self._row.server == "tgi":
            if form := asked.get("response_format"):
                _demand_grammar(form, asked)
            if isinstance(asked.get("logit_bias"), dict):
                raise RefusedError("logit_bias: invalid type: map, expected a sequence")
        elif (asked.get("tool_choice") or "none") != "none" and not asked.get("tools"):
            raise EngineRefusedError("When using `tool_choice`, `tools` must be set.")

    def _generate(self, request: TextRequest, adapter: str) -> Sequence[Generation]:
        seen: Seen = self._eye.look(request.pictures)
        prompts = [
            replace(prompt, adapter=adapter, seen=seen.text, picture_tokens=seen.tokens)
            for prompt in request.each_prompt()
        ]
        counts = [self._source.count_tokens(prompt) for prompt in prompts]
        limits = [self._answer_tokens(request, count) for count in counts]
        copies = range(request.copies if request.body != "inputs" else 1)
        limited = [replace(each, most_tokens=limit) for each, limit in zip(prompts, limits, strict=True)]
        return self._source.begin([replace(prompt, copy=copy) for prompt in limited for copy in copies])

    def _answer_tokens(self, request: TextRequest, prompt_tokens: int) -> int | None:
        """The most tokens of one answer; raises EngineRefusedError if prompt and answer exceed the context."""
        wanted = request.most_tokens
        if wanted is None and request.most_tokens_in_all is not None:
            wanted = request.most_tokens_in_all - prompt_tokens
        if wanted is not None and wanted < (0 if request.is_echoed else 1):
            raise EngineRefusedError(f"the answer must have at least 1 token, not {wanted}")
        if prompt_tokens > self._most_prompt_tokens or prompt_tokens + (wanted or 1) > self._most_tokens:
            raise EngineRefusedError(self._too_long(prompt_tokens, wanted or 1))
        return wanted

    def _too_long(self, prompt: int, wanted: int) -> str:
        """The engine's message for a request that exceeds the context."""
        most, given = self._most_tokens, f"Given: {prompt} `inputs` tokens and {wanted} `max_new_tokens`"
        match self._row.server:
            case "tgi" if prompt > self._most_prompt_tokens:
                return (
                    f"Input validation error: `inputs` must have less than {self._most_prompt_tokens} tokens. {given}"
                )
            case "tgi":
                return f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {most}. {given}"
            case "sglang":
                return (
                    f"Requested token count exceeds the model's maximum context length of {most} tokens. You requested "
                    f"a total of {prompt + wanted} tokens."
                )
            case "llama-cpp":
                return f"request ({prompt + wanted} tokens) exceeds the available context size ({most} tokens)"
        return (
            f"This model's maximum context length is {most} tokens. However, you requested {prompt + wanted} tokens "
            f"({prompt} in the messages, {wanted} in the completion)."
        )


def _demand_grammar(form: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse a form of the answer that TGI does not take (GrammarType in router/src/lib.rs)."""
    if form.get("type") == "text":
        raise RefusedError("response_format: unknown variant `text`, expected one of `json`, `regex`")
    if "value" not in form:
        raise RefusedError("response_format: missing field `value`")
    if asked.get("tools"):
        raise RefusedError("Tool error: Grammar and tools are mutually exclusive")


def _demand_model(row: CatalogRow, settings: Mapping[str, str], model_folder: Path | None) -> None:
    names = [row.variables[name] for name in ("model", "weights") if name in row.variables]
    # serving.properties has one name for an id and a path; /opt/ml/model means the model data.
    given = {settings.get(name) for name in (*names, "OPTION_MODEL_ID")} - {None, "", "/opt/ml/model"}
    has_data = model_folder is not None and any(model_folder.iterdir())
    if names and not given and not has_data:
        raise StartError(f"no model: {' or '.join(names)} must be set, or /opt/ml/model must hold one")


def _has_chat_template(row: CatalogRow, settings: Mapping[str, str]) -> bool:
    """Whether the model has a chat template, as far as the catalog knows, or a setting names one."""
    names = {settings.get(row.variables.get("model", "")), settings.get("OPTION_MODEL_ID")}
    if any(name.endswith("CHAT_TEMPLATE") for name in settings):
        return True
    known = (each for each in json.loads(MODELS.read_text())["models"] if names & set(each["ids"]))
    return all(each.get("chat_template") is not False for each in known)


def _checked_name(row: CatalogRow, settings: Mapping[str, str]) -> str | None:
    """The name that vLLM demands in `model`; None = the server accepts any name."""
    variable = row.variables.get("served_model_name", "")
    told = settings.get(variable)
    if row.server == "vllm":
        return told or settings.get(row.variables["model"]) or "/opt/ml/model"
    is_async = bool(variable) and settings.get("OPTION_ROLLING_BATCH", "disable") == "disable"
    return (told or "lmi") if row.server == "djl" and is_async else None


def _token_limits(row: CatalogRow, settings: Mapping[str, str], context: int | None) -> tuple[int, int]:
    """The most tokens of a prompt, and of a prompt with its answer. context: the model's, if it is known."""
    variable = row.variables.get("max_model_len", "")
    most = _whole_number(settings, variable, TGI_TOKENS if row.server == "tgi" else context or CONTEXT_TOKENS)
    if row.server != "tgi":
        most = min(most, context or most)
        return most, most
    prompt = _whole_number(settings, "MAX_INPUT_LENGTH", _whole_number(settings, "MAX_INPUT_TOKENS", TGI_PROMPT_TOKENS))
    if prompt >= most:
        raise StartError('Error: ArgumentValidation("`max_input_length` must be < `max_total_tokens`")')
    return min(prompt, context or prompt), min(most, context or most)


def _whole_number(settings: Mapping[str, str], name: str, default: int) -> int:
    """The setting as a number; the default for values that only the engine understands, such as `8k` or `auto`."""
    given = settings.get(name, "")
    return int(given) if given.isdecimal() and int(given) else default
