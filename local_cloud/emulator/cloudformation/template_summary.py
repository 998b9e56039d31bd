"""GetTemplateSummary gives back the Metadata of a stack's template, which MiniStack leaves out."""

import json
from typing import Any
from xml.sax.saxutils import escape

from local_cloud.emulator.core import ministack

_handlers = ministack.internals(
    "ministack.services.cloudformation.handlers", "_ACTION_HANDLERS", "_p", "_resolve_stack"
)
_END = b"</GetTemplateSummaryResult>"


def install() -> None:
    summarize = _handlers._ACTION_HANDLERS["GetTemplateSummary"]

    def get_template_summary(parameters: dict[str, Any]) -> Any:
        status, headers, body = summarize(parameters)
        stack = _handlers._resolve_stack(_handlers._p(parameters, "StackName"))
        metadata = stack and stack["_template"].get("Metadata")
        if metadata:
            element = f"<Metadata>{escape(json.dumps(metadata))}</Metadata>".encode()
            body = body.replace(_END, element + _END)
        return status, headers, body

    _handlers._ACTION_HANDLERS["GetTemplateSummary"] = get_template_summary
