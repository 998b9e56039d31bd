"""Metric math as alarms use it: one value of an expression from one value of each metric."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

_COMPARISONS: dict[type, Callable[[float, float], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_OF_LISTS: dict[str, Callable[[list[float]], float]] = {
    "SUM": sum,
    "MAX": max,
    "MIN": min,
    "AVG": lambda values: sum(values) / len(values),
}


class UnknownMathError(Exception):
    """An expression with a part that is not emulated."""


def value_of(expression: str, metrics: Mapping[str, float | None]) -> float | None:
    """The value of an expression; None if a part of it has none. metrics: by their ids, None = no data."""
    python = re.sub(r"\b(AND|OR)\b", lambda word: word[0].lower(), expression)
    try:
        return _value(ast.parse(python, mode="eval").body, metrics)
    except (SyntaxError, KeyError, TypeError, ValueError) as error:
        raise UnknownMathError(expression) from error


def _value(node: Any, metrics: Mapping[str, float | None]) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name():
            return metrics[node.id]
        case ast.Call(func=ast.Name(id="IF"), args=[condition, yes, no]):
            holds = _value(condition, metrics)
            return None if holds is None else _value(yes if holds else no, metrics)
        case ast.Call(func=ast.Name(id="FILL"), args=[metric, filling]):
            found = _value(metric, metrics)
            return _value(filling, metrics) if found is None else found
        case ast.Call(func=ast.Name(id=name), args=[ast.List(elts=parts)]):
            return _of_all([_value(part, metrics) for part in parts], _OF_LISTS[name])
        case ast.Compare(ops=[comparison], comparators=[right]):
            compare = _COMPARISONS[type(comparison)]
            return _of_all([_value(node.left, metrics), _value(right, metrics)], lambda both: float(compare(*both)))
        case ast.BinOp():
            calculate = _ARITHMETIC[type(node.op)]
            return _of_all([_value(node.left, metrics), _value(node.right, metrics)], lambda both: calculate(*both))
        case ast.BoolOp(values=parts):
            test = all if isinstance(node.op, ast.And) else any
            return _of_all([_value(part, metrics) for part in parts], lambda each: float(test(each)))
    raise UnknownMathError(ast.dump(node))


def _of_all(values: list[float | None], function: Callable[[list[float]], float]) -> float | None:
    """As CloudWatch does for a moment at which one of several series has no data: no value."""
    known = [value for value in values if value is not None]
    return function(known) if len(known) == len(values) else None
