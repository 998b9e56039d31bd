"""Schemas of the OpenAPI document."""

from typing import Any

from slipway.openapi.errors import CODES

Schema = dict[str, Any]

TEXT, OBJECT = {"type": "string"}, {"type": "object"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_TIME, _SECONDS = {"type": "string", "format": "date-time"}, {"type": "integer", "description": "Unix time."}
_SECONDS_OR_NULL = {**_SECONDS, "type": ["integer", "null"]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: dict[str, Schema], **more: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": required | more}


def _list_of(name: str) -> Schema:
    page: dict[str, Schema] = {"object": {"const": "list"}, "data": {"type": "array", "items": ref(name)}}
    return _object({**page, "has_more": {"type": "boolean"}}, first_id=_TEXT_OR_NULL, last_id=_TEXT_OR_NULL)


def _of_type(*types: str) -> Schema:
    return _object({"type": {"enum": [*types]}})


_TOKENS = {"type": ["integer", "null"], "minimum": 1}
_SAMPLING: dict[str, Schema] = {
    "temperature": {"type": ["number", "null"], "minimum": 0},
    "top_p": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1},
    "max_tokens": _TOKENS,
}
_MESSAGES = {
    "type": "array",
    "minItems": 1,
    "items": _object(
        {"role": {"enum": ["developer", "system", "user", "assistant", "tool"]}},
        content={"type": ["string", "array", "null"]},
    ),
}
_PENALTY: Schema = {"type": ["number", "null"], "minimum": -2, "maximum": 2}
_OF_BOTH: dict[str, Schema] = {
    **_SAMPLING,
    "n": {"type": ["integer", "null"], "minimum": 1, "maximum": 128},
    "stop": {"type": ["string", "array", "null"], "items": TEXT},
    "seed": {"type": ["integer", "null"]},
    "frequency_penalty": _PENALTY,
    "presence_penalty": _PENALTY,
}
_ECHO: dict[str, Schema] = {
    "echo": {"type": ["boolean", "null"]},
    "max_tokens": _TOKENS | {"minimum": 0, "description": "0 only with `echo: true`."},
}
_TOOL = _object(
    {"type": {"const": "function"}, "function": _object({"name": TEXT}, description=TEXT, parameters=OBJECT)}
)
_OF_CHATS: dict[str, Schema] = {
    "max_completion_tokens": _TOKENS,
    "tools": {"type": ["array", "null"], "items": _TOOL},
    "tool_choice": {"type": ["string", "object", "null"]},
    "response_format": {"type": ["object", "null"]},
    "logprobs": {"type": ["boolean", "null"]},
}
_OTHERS = "Other parameters go to the engine as they are."
_FINISHED: dict[str, Schema] = {"index": {"type": "integer"}, "finish_reason": _TEXT_OR_NULL}
_MESSAGE = _object({"role": TEXT}, content=_TEXT_OR_NULL, tool_calls={"type": ["array", "null"], "items": OBJECT})
_COUNTED: dict[str, Schema] = {
    "id": TEXT,
    "created": _SECONDS,
    "usage": {
        "type": ["object", "null"],
        "description": "Where the engine counts.",
        "properties": {name: {"type": "integer"} for name in ("prompt_tokens", "completion_tokens", "total_tokens")},
    },
}
_TEXTS = {"oneOf": [{"type": "string", "minLength": 1}, {"type": "array", "minItems": 1, "items": TEXT}]}
_STREAM = {"type": ["boolean", "null"]}
_STREAMED: dict[str, Schema] = {
    "stream": _STREAM,
    "stream_options": {
        "type": ["object", "null"],
        "description": "Only with `stream: true`.",
        "properties": {"include_usage": {"type": "boolean"}},
    },
}
_STEPS = ("in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled")
_KEPT = {
    "anchor": {"const": "created_at"},
    "seconds": {"type": "integer", "minimum": 3600, "maximum": 2_592_000},
}
_OF_VECTORS = ("/v1/embeddings", "/v1/rerank")
_TOKEN_IDS: Schema = {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}
_DOCUMENT: Schema = {
    "oneOf": [{"type": "string", "minLength": 1}, _object({"text": {"type": "string", "minLength": 1}})]
}
_INDEX: Schema = {"index": {"type": "integer"}}
_METADATA = {"type": ["object", "null"], "maxProperties": 16, "additionalProperties": TEXT}
_MODEL = {"type": "string", "description": "`id` of GET /models; may be left out."}
SCHEMAS: dict[str, Schema] = {
    "Error": _object(
        {
            "error": _object(
                {
                    "code": {"enum": sorted({code for codes in CODES.values() for code in codes})},
                    "message": {"type": "string", "description": "For people; `code` is for programs."},
                    "type": {
                        "enum": [
                            *("authentication_error", "invalid_request_error", "permission_error"),
                            *("rate_limit_error", "server_error"),
                        ]
                    },
                    "param": {"type": ["string", "null"], "description": "The field at fault."},
                },
                field={"type": "string", "description": "The same as `param`, where there is one."},
            )
        }
    ),
    "Generate": {
        "description": "One prompt, as the engine takes it: docs/engines.md.",
        "oneOf": [
            _object({"inputs": _TEXTS}, parameters=OBJECT, stream=_STREAM),
            _object({"messages": _MESSAGES}, model=_MODEL, stream=_STREAM, **_SAMPLING),
            _object({"prompt": _TEXTS}, model=_MODEL, stream=_STREAM, **_SAMPLING),
        ],
    },
    "Chat": {
        **_object({"messages": _MESSAGES}, model=_MODEL, **_STREAMED, **_OF_BOTH, **_OF_CHATS),
        "description": _OTHERS,
        "examples": [{"messages": [{"role": "user", "content": "What is a list?"}], "max_tokens": 100}],
    },
    "Complete": {
        **_object({"prompt": _TEXTS}, model=_MODEL, **_STREAMED, **_OF_BOTH | _ECHO),
        "description": _OTHERS,
        "examples": [{"prompt": "A list is", "max_tokens": 100}],
    },
    "Respond": {
        **_object(
            {"input": {"type": ["string", "array"], "items": OBJECT, "minItems": 1, "minLength": 1}},
            model=_MODEL,
            instructions=_TEXT_OR_NULL,
            max_output_tokens=_TOKENS,
            stream=_STREAM,
            **{name: _SAMPLING[name] for name in ("temperature", "top_p")},
            text={"type": ["object", "null"], "description": "`format`: the form of the answer."},
            reasoning={"type": ["object", "null"]},
            tools={"type": ["array", "null"], "items": _of_type("function", "custom", "namespace")},
            tool_choice={"type": ["string", "object", "null"]},
            metadata=_METADATA,
            store={"type": ["boolean", "null"], "description": "Nothing is stored; the answer says false."},
            previous_response_id={"type": "null"},
        ),
        "description": "Every field and what becomes of it: docs/openai.md. " + _OTHERS,
        "examples": [{"input": "What is a list?", "max_output_tokens": 100}],
    },
    "Response": _object(
        {
            "id": TEXT,
            "object": {"const": "response"},
            "created_at": _SECONDS,
            "status": {"enum": ["completed", "incomplete", "failed", "in_progress"]},
            "model": TEXT,
            "output": {
                "type": "array",
                "items": _of_type("message", "reasoning", "function_call", "custom_tool_call"),
            },
            "store": {"const": False},
        },
        error={"type": ["object", "null"]},
        incomplete_details={"type": ["object", "null"]},
        usage={
            "type": ["object", "null"],
            "description": "Where the engine counts.",
            "properties": {name: {"type": "integer"} for name in ("input_tokens", "output_tokens", "total_tokens")},
        },
    ),
    "Embed": {
        **_object(
            {"input": {"oneOf": [*_TEXTS["oneOf"], _TOKEN_IDS, {"type": "array", "minItems": 1, "items": _TOKEN_IDS}]}},
            model=_MODEL,
            encoding_format={"enum": ["float", "base64", None]},
            dimensions={**_TOKENS, "description": "Only for models whose vectors may be cut."},
            user=_TEXT_OR_NULL,
        ),
        "description": f"At most 2,048 texts, or lists of the model's own token ids. {_OTHERS}",
        "examples": [{"input": ["What is a list?", "Lists have an order."]}],
    },
    "Embeddings": _object(
        {
            "object": {"const": "list"},
            "data": {
                "type": "array",
                "items": _object(
                    {
                        "object": {"const": "embedding"},
                        **_INDEX,
                        "embedding": {
                            "type": ["array", "string"],
                            "items": {"type": "number"},
                            "description": "Numbers, or base64 of little-endian float32.",
                        },
                    }
                ),
            },
            "model": TEXT,
            "usage": _object({name: {"type": "integer"} for name in ("prompt_tokens", "total_tokens")}),
        }
    ),
    "Rerank": {
        **_object(
            {
                "query": {"type": "string", "minLength": 1},
                "documents": {"type": "array", "minItems": 1, "maxItems": 2048, "items": _DOCUMENT},
            },
            model=_MODEL,
            top_n={**_TOKENS, "description": "The most results; all by default."},
            return_documents={"type": ["boolean", "null"]},
        ),
        "description": _OTHERS,
        "examples": [{"query": "What is a list?", "documents": ["Lists have an order.", "Bern is a city."]}],
    },
    "Ranks": _object(
        {
            "id": TEXT,
            "model": TEXT,
            "results": {
                "type": "array",
                "items": _object({**_INDEX, "relevance_score": {"type": "number"}}, document=_object({"text": TEXT})),
            },
            "usage": _object({"total_tokens": {"type": "integer"}}),
        }
    ),
    "ChatCompletion": _object(
        {
            "object": {"const": "chat.completion"},
            "model": TEXT,
            "choices": {"type": "array", "items": _object({"message": _MESSAGE}, **_FINISHED)},
        },
        **_COUNTED,
    ),
    "Completion": _object(
        {
            "object": {"const": "text_completion"},
            "model": TEXT,
            "choices": {"type": "array", "items": _object({"text": TEXT}, **_FINISHED)},
        },
        **_COUNTED,
    ),
    "Model": _object(
        {"id": TEXT, "object": {"const": "model"}, "created": {"type": "integer"}, "owned_by": TEXT},
        status={
            "enum": ["ready", "starting", "asleep", "failed", "not_deployed", None],
            "description": "Whether the model answers now; null while nobody can tell.",
        },
        root={"type": "string", "description": "Of a LoRA adapter only: its name."},
        parent={"type": "string", "description": "Of a LoRA adapter only: the id of its model."},
    ),
    "Models": _object({"object": {"const": "list"}, "data": {"type": "array", "items": ref("Model")}}),
    "Job": {
        **_object(
            {
                "id": TEXT,
                "status": {"enum": ["queued", "running", "succeeded", "failed", "expired", "cancelled"]},
                "created_at": _TIME,
                "deadline": _TIME,
                "links": _object({"self": TEXT}),
            },
            ended_at=_TIME,
            trace_id={"type": "string", "description": "Of a traced deployment only: the job's trace in AWS X-Ray."},
            output={},
            output_url=TEXT,
            error=OBJECT,
        ),
        "description": "`output`, `output_url` or `error` once it has ended.",
    },
    "Upload": {
        **_object({"purpose": {"enum": ["batch"]}, "file": {"type": "string", "contentMediaType": "text/plain"}}),
        "description": "`file`: one JSON object a line, with `custom_id`, `method`, `url` and `body`; at most 4.5 MB.",
    },
    "CreateBatch": {
        **_object(
            {
                "input_file_id": TEXT,
                "endpoint": {"enum": ["/v1/chat/completions", "/v1/completions", "/v1/responses", *_OF_VECTORS]},
                "completion_window": {"const": "24h"},
            },
            metadata=_METADATA,
            output_expires_after={"type": ["object", "null"], "properties": _KEPT},
        ),
        "examples": [{"input_file_id": "file-...", "endpoint": "/v1/chat/completions", "completion_window": "24h"}],
    },
    "File": _object(
        {
            "id": TEXT,
            "object": {"const": "file"},
            "bytes": {"type": "integer"},
            "created_at": _SECONDS,
            "expires_at": _SECONDS,
            "filename": TEXT,
            "purpose": TEXT,
        }
    ),
    "DeletedFile": _object({"id": TEXT, "object": {"const": "file"}, "deleted": {"const": True}}),
    "Batch": _object(
        {
            "id": TEXT,
            "object": {"const": "batch"},
            "endpoint": TEXT,
            "input_file_id": TEXT,
            "status": {
                "enum": [
                    *("validating", "failed", "in_progress", "finalizing", "completed", "expired"),
                    *("cancelling", "cancelled"),
                ]
            },
            "output_file_id": _TEXT_OR_NULL,
            "error_file_id": _TEXT_OR_NULL,
            "created_at": _SECONDS,
            "request_counts": _object({name: {"type": "integer"} for name in ("total", "completed", "failed")}),
            "completion_window": TEXT,
            "expires_at": _SECONDS,
            **{f"{name}_at": _SECONDS_OR_NULL for name in _STEPS},
        },
        errors={"type": ["object", "null"]},
        metadata={"type": ["object", "null"]},
    ),
    "Files": _list_of("File"),
    "Batches": _list_of("Batch"),
    "Jobs": _object({"jobs": {"type": "array", "items": ref("Job")}, "next": _TEXT_OR_NULL}),
}
