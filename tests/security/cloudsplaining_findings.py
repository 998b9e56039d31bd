"""Reads policies from standard input and writes what cloudsplaining finds in each; runs in .venv-security."""

import json
import sys

from cloudsplaining.scan.policy_document import PolicyDocument

_KINDS = (
    "allows_data_exfiltration_actions",
    "allows_privilege_escalation",
    "contains_statement_using_not_action",
    "credentials_exposure",
    "infrastructure_modification",
    "permissions_management_without_constraints",
    "service_wildcard",
    "tagging_actions_without_constraints",
    "write_actions_without_constraints",
)

found = {}
for name, document in json.load(sys.stdin).items():
    policy = PolicyDocument(document)
    found[name] = {kind: findings for kind in _KINDS if (findings := getattr(policy, kind))}
json.dump(found, sys.stdout)
