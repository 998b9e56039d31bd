"""The model names that our functions accept in OpenAI requests."""

import json
from collections.abc import Iterator
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
    functions, found = dict(_of_functions(resources)), dict[str, ModelNames]()
    for route in routes(resources):
        called = " ".join(map(shown, values_at(resources[route.logical_id].properties, ["Integration", "Uri"])))
        for name, names in functions.items():
            if f"${{{name}." in called:
                found.setdefault(route.owner, names)
    return found


def _of_functions(resources: Resources) -> Iterator[tuple[str, ModelNames]]:
    for each in resources.values():
        variables = each.properties.get("Environment", {}) if each.type == "AWS::Lambda::Function" else {}
        variables = variables.get("Variables", {}) if isinstance(variables, dict) else {}
        if isinstance(variables, dict) and variables.get("OPENAI_ROUTES"):
            facts = _facts(variables.get("OPENAI_FACTS"))
            adapters = str(variables.get("ADAPTERS") or "").split(",")
            names = [variables.get("MODEL_ID"), *facts.get("names", []), *filter(None, adapters)]
            known = frozenset(name for name in names if isinstance(name, str))
            yield each.logical_id, ModelNames(known, bool(facts.get("any_model")))


def _facts(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
