"""The model names that our functions accept in OpenAI requests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slipway.changes.template.resources import Resource


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


def model_names(resources: Mapping[str, Resource]) -> ModelNames | None:
    """The names that the functions accept; None if no function has OpenAI's routes."""
    for each in resources.values():
        variables = each.properties.get("Environment", {}) if each.type == "AWS::Lambda::Function" else {}
        variables = variables.get("Variables", {}) if isinstance(variables, dict) else {}
        if isinstance(variables, dict) and variables.get("OPENAI_ROUTES"):
            facts = _facts(variables.get("OPENAI_FACTS"))
            names = [variables.get("MODEL_ID"), *facts.get("names", [])]
            return ModelNames(frozenset(each for each in names if isinstance(each, str)), bool(facts.get("any_model")))
    return None


def _facts(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
