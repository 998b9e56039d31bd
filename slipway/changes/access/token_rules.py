"""What tokens an API with `auth: jwt` accepts, as the authorizer's variable says it."""

import json
from typing import Any

from slipway.changes.template.resources import Resources

VARIABLE = "TOKEN_RULES"


def token_rules(resources: Resources) -> dict[str, Any]:
    """The rules of each authorizer, by its logical id: an object, or the value as it stands if it names resources."""
    found = {}
    for name, each in resources.items():
        variables = each.properties.get("Environment", {}).get("Variables", {})
        if each.type == "AWS::Lambda::Function" and VARIABLE in variables:
            rules = variables[VARIABLE]
            found[name] = json.loads(rules) if isinstance(rules, str) else rules
    return found


def refused(was: Any, is_now: Any) -> str | None:
    """Tell which tokens were accepted before and are refused now; None if there are none."""
    if was == is_now:
        return None
    if not ("issuer" in was and "issuer" in is_now):
        return "some tokens"
    if was["issuer"] != is_now["issuer"]:
        return f"tokens of {was['issuer']}"
    if gone := sorted(set(was["audience"]) - set(is_now["audience"])):
        return f"tokens for {' and '.join(gone)}"
    for name, accepted in is_now["claims"].items():
        if not set(was["claims"].get(name, ())) <= set(accepted) or name not in was["claims"]:
            return f"tokens with another {name}"
    if is_now["groups"] and not was["groups"]:
        return f"callers in no group but {' and '.join(is_now['groups'])}"
    if gone := [name for name in was["groups"] if name not in is_now["groups"]] if is_now["groups"] else []:
        return f"callers in {' and '.join(gone)} alone"
    if is_now["groups"] and was["groups_claim"] != is_now["groups_claim"]:
        return f"callers without {is_now['groups_claim']}"
    return None
