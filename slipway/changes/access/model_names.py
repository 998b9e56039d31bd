"""The callers that our functions tell apart: model names of OpenAI requests, and origins of web pages."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slipway.changes.access.routes import routes
from slipway.changes.template.resources import Resources, values_at
from slipway.changes.template.values import shown


@dataclass(frozen=True)
class ModelNames:
    """The names that stand for the model. known: its id and aliases. takes_any: every other name is accepted, too."""

    known: frozenset[str]
    takes_any: bool

    def refused(self, was: "ModelNames") -> str:
        """The names that were accepted before and are refused here, in words; "" if there are none."""
        if self.takes_any:
            return ""
        if was.takes_any:
            return f"any model but {' or '.join(sorted(self.known))}"
        gone = sorted(was.known - self.known)
        return f"the model {' or '.join(gone)}" if gone else ""


def model_names(resources: Resources) -> dict[str, ModelNames]:
    """The names that each API with OpenAI's routes accepts, by the API's logical id."""
    found: dict[str, ModelNames] = {}
    for api, variables in _variables(resources):
        if variables.get("OPENAI_ROUTES"):
            facts = _facts(variables.get("OPENAI_FACTS"))
            adapters = str(variables.get("ADAPTERS") or "").split(",")
            names = [variables.get("MODEL_ID"), *facts.get("names", []), *filter(None, adapters)]
            known = frozenset(name for name in names if isinstance(name, str))
            found.setdefault(api, ModelNames(known, bool(facts.get("any_model"))))
    return found


def page_origins(resources: Resources) -> dict[str, frozenset[str]]:
    """The origins of web pages that may call each API from a browser, by the API's logical id."""
    found: dict[str, frozenset[str]] = {}
    for api, variables in _variables(resources):
        if origins := str(variables.get("CORS_ORIGINS") or ""):
            found.setdefault(api, frozenset(origins.split(",")))
    return found


def _variables(resources: Resources) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the variables of each route's function, with the logical id of the route's API."""
    functions: dict[str, Mapping[str, Any]] = {}
    for each in resources.values():
        variables = each.properties.get("Environment", {}) if each.type == "AWS::Lambda::Function" else {}
        variables = variables.get("Variables", {}) if isinstance(variables, dict) else {}
        if isinstance(variables, dict):
            functions[f"${{{each.logical_id}."] = variables
    for route in routes(resources):
        called = " ".join(map(shown, values_at(resources[route.logical_id].properties, ["Integration", "Uri"])))
        for name, variables in functions.items():
            if name in called:
                yield route.owner, variables


def _facts(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
