"""Tools of a response -> functions of a chat, and the names by which the model's calls find their way back."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from inference_api.responses.checks import a_flag, a_list, a_name, a_text, an_object, invalid, one_of

# The argument of a function that stands for a custom tool, which takes one text.
_INPUT = "input"
_TEXT_ONLY = {"type": "object", "properties": {_INPUT: {"type": "string"}}, "required": [_INPUT]}
_KINDS = "function, custom and namespace"


class Tool(NamedTuple):
    """A tool as callers know it. namespace: empty if it has none."""

    name: str
    namespace: str = ""
    is_custom: bool = False

    def input_of(self, arguments: str) -> str:
        """Return the text that the model gives to a custom tool; its arguments as they are if they have none."""
        try:
            found = json.loads(arguments)[_INPUT]
        except (ValueError, LookupError, TypeError, RecursionError):
            return arguments
        return found if isinstance(found, str) else arguments


class Tools(NamedTuple):
    """The tools of a request. functions: as chats have them. by_name: the tools by the names of their functions."""

    functions: list[dict[str, Any]]
    by_name: Mapping[str, Tool]

    def tool(self, name: str) -> Tool:
        """Return the tool that the model calls. A model may invent one."""
        return self.by_name.get(name) or Tool(name)


def function_name(name: str, namespace: str = "") -> str:
    """Return the name of a tool's function: a chat knows no namespaces."""
    return f"{namespace}{'' if namespace.endswith('_') else '__'}{name}" if namespace else name


def arguments_of_text(text: str) -> str:
    """Return the arguments of a function that stands for a custom tool."""
    return json.dumps({_INPUT: text}, ensure_ascii=False)


def read_tools(value: Any) -> Tools:
    """Translate `tools`. Raises ApiError 400, which names the tool's field."""
    functions, by_name = [], dict[str, Tool]()
    for tool, function, field in _functions(value or []):
        if function["name"] in by_name:
            raise invalid(f"{field}.name", f"two tools are called {function['name'][:100]}; rename one")
        by_name[function["name"]] = tool
        functions.append({"type": "function", "function": function})
    return Tools(functions, by_name)


def _functions(tools: list[Any]) -> Iterator[tuple[Tool, dict[str, Any], str]]:
    for index, each in enumerate(tools):
        field = f"tools[{index}]"
        kind = a_name(an_object(each, field).get("type"), f"{field}.type")
        if kind != "namespace":
            yield _function(each, field, "")
            continue
        namespace = a_name(each.get("name"), f"{field}.name")
        for number, inner in enumerate(a_list(each.get("tools"), f"{field}.tools")):
            where = f"{field}.tools[{number}]"
            yield _function(an_object(inner, where), where, namespace)


def _function(tool: Mapping[str, Any], field: str, namespace: str) -> tuple[Tool, dict[str, Any], str]:
    kind = tool.get("type")
    if kind not in ("function", "custom"):
        raise invalid(f"{field}.type", f"{json.dumps(kind)[:60]} is not supported here; {_KINDS} tools are: remove it")
    if "function" in tool:
        raise invalid(f"{field}.function", "is the form of chat/completions; here its members stand beside type")
    name = a_name(tool.get("name"), f"{field}.name")
    function: dict[str, Any] = {"name": function_name(name, namespace)}
    if (description := tool.get("description")) is not None:
        function["description"] = a_text(description, f"{field}.description")
    if kind == "custom":
        function |= _of_text(tool, field, function.get("description", ""))
    else:
        parameters = tool.get("parameters")
        no_parameters = {"type": "object", "properties": {}}
        function["parameters"] = no_parameters if parameters is None else an_object(parameters, f"{field}.parameters")
        if (strict := tool.get("strict")) is not None:
            function["strict"] = a_flag(strict, f"{field}.strict")
    return Tool(name, namespace, kind == "custom"), function, field


def _of_text(tool: Mapping[str, Any], field: str, description: str) -> dict[str, Any]:
    """Return the members of a function that takes one text. A grammar of the text becomes part of its description."""
    form = {} if tool.get("format") is None else an_object(tool["format"], f"{field}.format")
    if form.get("type") != "grammar":
        return {"parameters": _TEXT_ONLY}
    syntax = a_name(form.get("syntax"), f"{field}.format.syntax")
    grammar = a_name(form.get("definition"), f"{field}.format.definition")
    wanted = f"The input must follow this {syntax} grammar:\n{grammar}"
    return {"description": "\n\n".join(filter(None, (description, wanted))), "parameters": _TEXT_ONLY}


def read_choice(choice: Any, tools: Tools) -> tuple[Any, list[dict[str, Any]]]:
    """Return `tool_choice` as chats have it, and the functions that the model may call. Raises ApiError 400."""
    if choice is None or isinstance(choice, str):
        if choice is not None:
            one_of("none", "auto", "required")(choice, "tool_choice")
        if choice == "required" and not tools.functions:
            raise invalid("tool_choice", "required needs tools; send some")
        return choice, tools.functions
    kind = an_object(choice, "tool_choice").get("type")
    if kind in ("function", "custom"):
        return {"type": "function", "function": {"name": _chosen(choice, tools, "tool_choice")}}, tools.functions
    if kind != "allowed_tools":
        problem = f"{json.dumps(kind)[:60]} is not supported here; use function, custom or allowed_tools"
        raise invalid("tool_choice.type", problem)
    one_of("auto", "required")(choice.get("mode"), "tool_choice.mode")
    allowed = {
        _chosen(an_object(each, f"tool_choice.tools[{index}]"), tools, f"tool_choice.tools[{index}]")
        for index, each in enumerate(a_list(choice.get("tools"), "tool_choice.tools"))
    }
    return choice["mode"], [each for each in tools.functions if each["function"]["name"] in allowed]


def _chosen(choice: Mapping[str, Any], tools: Tools, field: str) -> str:
    namespace = choice.get("namespace")
    name = function_name(
        a_name(choice.get("name"), f"{field}.name"),
        "" if namespace is None else a_text(namespace, f"{field}.namespace"),
    )
    if name not in tools.by_name:
        raise invalid(f"{field}.name", f"tools has no {name[:100]}; add it or choose another")
    return name
