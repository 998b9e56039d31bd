"""Asks accounts and regions side by side: what one of them does not tell hides nothing of the others."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from slipway.shared.aws_clients import Clients, clients_in
from slipway.shared.aws_errors import sentence
from slipway.stack.deployed_stack import UnknownStackError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

_AT_ONCE = 8  # below the ten connections that a client of boto3 keeps
_SESSION = "slipway"


class Place(NamedTuple):
    """An account and a region."""

    account: str
    region: str


class NotAsked(NamedTuple):
    """Why there is no answer, in one sentence."""

    why: str


NO_ROLE = NotAsked("it is another account than yours: name a role of it with --role.")


def answer_of(ask: Callable[[Asked], Answer], asked: Asked) -> Answer | NotAsked:
    """Return the answer, or a sentence if AWS gave none."""
    try:
        return ask(asked)
    except UnknownStackError as error:
        return NotAsked(str(error))
    except (BotoCoreError, ClientError) as error:
        return NotAsked(sentence(error))


def side_by_side(ask: Callable[[Asked], Answer], asked: Sequence[Asked]) -> list[Answer | NotAsked]:
    """Return an answer for each, in order; a sentence where AWS gave none."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(partial(answer_of, ask), asked))


def clients_of(places: Sequence[Place], role: str | None, home: Clients) -> dict[Place, Clients | NotAsked]:
    """Return the clients of each place.

    role: the name of a role in each account; None = only the caller's own account can be asked. Raises boto3's errors
    if the caller is not known.
    """
    identity = home("sts").get_caller_identity()
    partition, own = identity["Arn"].split(":")[1], identity["Account"]

    def credentials(account: str) -> Mapping[str, str] | NotAsked | None:
        if account == own:
            return None
        if role is None:
            return NO_ROLE
        arn = f"arn:{partition}:iam::{account}:role/{role}"
        taken: Mapping[str, str] = home("sts").assume_role(RoleArn=arn, RoleSessionName=_SESSION)["Credentials"]
        return taken

    accounts = sorted({place.account for place in places})
    taken = dict(zip(accounts, side_by_side(credentials, accounts), strict=True))
    return {place: _clients(place.region, taken[place.account]) for place in places}


def _clients(region: str, taken: Mapping[str, str] | NotAsked | None) -> Clients | NotAsked:
    return taken if isinstance(taken, NotAsked) else clients_in(region, taken)
