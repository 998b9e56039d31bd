"""AWS Organizations: the accounts of an organization, who may call it, and the accounts of its units."""

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

from local_cloud.emulator.core import ministack

_app = ministack.internals("ministack.app", "SERVICE_HANDLERS")
_evaluator = ministack.internals("ministack.core.iam_evaluator", "_principal_org_id")
_organizations = ministack.internals(
    "ministack.services.organizations",
    "_DISPATCH",
    "_accounts.to_dict",
    "_ensure_org",
    "_ous",
    "_roots",
    "error_response_json",
)

_HOME = "us-east-1"  # Organizations is global
STACK_SETS = "member.org.stacksets.cloudformation.amazonaws.com"
_READS = ("Describe", "List")

# The management accounts with trusted access for StackSets, and the delegated administrators of each.
with_trusted_access: set[str] = set()
_delegated: dict[str, set[str]] = {}
_moved: list[Callable[[str, str], None]] = []


def when_accounts_move(tell: Callable[[str, str], None]) -> None:
    """Call tell(management account, account) after an account joined or left a unit."""
    _moved.append(tell)


def management_account(account: str) -> str:
    """The management account of an account's organization; the account itself if it is not a member of another's."""
    for owner, member in _organizations._accounts.to_dict():
        if member == account and owner != account:
            return str(owner)
    return account


def is_delegated_administrator(account: str) -> bool:
    return account in _delegated.get(management_account(account), set())


def accounts_below(parent: str, management: str) -> set[str]:
    """The active accounts below a unit or root, without the management account.

    Raises KeyError for an unknown unit.
    """
    with ministack.scope(management, _HOME):
        _organizations._ensure_org()
        if parent not in _organizations._ous and parent not in _organizations._roots:
            raise KeyError(parent)
        inside = set(_units_below(parent))
        found = [each for each in _organizations._accounts.values() if each["_ParentId"] in inside]
    return {each["Id"] for each in found if each["Status"] == "ACTIVE" and each["Id"] != management}


def _units_below(parent: str) -> Iterator[str]:
    yield parent
    for unit in _organizations._ous.values():
        if unit["_ParentId"] == parent:
            yield from _units_below(unit["Id"])


async def _serve(serve: Any, method: str, path: str, headers: Any, body: bytes, query: Any) -> ministack.Answer:
    caller = ministack.account_id()
    management, operation = management_account(caller), headers.get("x-amz-target", "").rpartition(".")[2]
    may_read = is_delegated_administrator(caller) and operation.startswith(_READS)
    if caller != management and not may_read and operation != "DescribeOrganization":
        message = "You don't have permissions to access this resource."
        refusal: ministack.Answer = _organizations.error_response_json("AccessDeniedException", message, 400)
        return refusal
    with ministack.scope(management, _HOME):
        answer: ministack.Answer = await serve(method, path, headers, body, query)
    if operation == "MoveAccount" and answer[0] == 200:
        for tell in _moved:
            tell(management, json.loads(body)["AccountId"])
    return answer


def _demand_parent(member: str, code: str, operation: Callable[[Any], Any], payload: dict[str, Any]) -> Any:
    """Refuse an unknown unit, as Organizations does; MiniStack finds nothing in it."""
    _organizations._ensure_org()
    parent = payload.get(member)
    if parent not in _organizations._ous and parent not in _organizations._roots:
        message = f"We can't find a root or OU with the {member} that you specified."
        return _organizations.error_response_json(code, message, 400)
    return operation(payload)


def _move(operation: Callable[[Any], Any], payload: dict[str, Any]) -> Any:
    """Move an account; refuse a wrong source parent, which MiniStack ignores."""
    account = _organizations._accounts.get(payload.get("AccountId")) or {}
    if account and account["_ParentId"] != payload.get("SourceParentId"):
        message = "We can't find a source root or OU with the ParentId that you specified."
        return _organizations.error_response_json("SourceParentNotFoundException", message, 400)
    return operation(payload)


def _register_delegate(payload: dict[str, Any]) -> ministack.Answer:
    account = payload["AccountId"]
    if payload["ServicePrincipal"] != STACK_SETS or account not in _organizations._accounts:
        message = f"The local cloud delegates {STACK_SETS} only, to accounts of the organization."
        refusal: ministack.Answer = _organizations.error_response_json("InvalidInputException", message, 400)
        return refusal
    _delegated.setdefault(ministack.account_id(), set()).add(account)
    return _answer({})


def _list_delegates(payload: dict[str, Any]) -> ministack.Answer:
    found = sorted(_delegated.get(ministack.account_id(), set()))
    known = [_organizations._accounts[each] for each in found]
    members = ("Id", "Arn", "Email", "Name", "Status", "JoinedMethod", "JoinedTimestamp")
    return _answer({"DelegatedAdministrators": [{name: each[name] for name in members} for each in known]})


def _answer(content: dict[str, Any]) -> ministack.Answer:
    return 200, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(content).encode()


def install() -> None:
    _app.SERVICE_HANDLERS["organizations"] = functools.partial(_serve, _app.SERVICE_HANDLERS["organizations"])
    operations = _organizations._DISPATCH
    for name in ("ListAccountsForParent", "ListOrganizationalUnitsForParent", "CreateOrganizationalUnit"):
        operations[name] = functools.partial(_demand_parent, "ParentId", "ParentNotFoundException", operations[name])
    operations["MoveAccount"] = functools.partial(_move, operations["MoveAccount"])
    operations["RegisterDelegatedAdministrator"] = _register_delegate
    operations["ListDelegatedAdministrators"] = _list_delegates
    own = _evaluator._principal_org_id
    # For conditions on aws:PrincipalOrgID: a member's organization is that of its management account.
    _evaluator._principal_org_id = lambda account: own(management_account(account))
